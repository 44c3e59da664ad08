"""pi_intra, pi_inter and pi_ratio: how wide classes are against how far apart they lie.

Formula
    pi_intra = mean over classes of the mean over ordered pairs i != j of delta(z_i, z_j)
    pi_inter = mean over ordered pairs of classes of delta(mu_k, mu_l),  mu: class means
    pi_ratio = pi_intra / max(pi_inter, 1e-8)
    cosine: delta(u, v) = 1 - cos(u, v), class means brought to unit length;  euclidean: delta(u, v) = |u - v|

Paper
    Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020,
    section 5; their code uses cosine.

Departures from the paper
    Classes of one row have no pairs and are left out of pi_intra; the paper's code puts a maximum over the first two
    classes in their place by a slip of indexing.
"""

from typing import Literal

import numpy as np

from fairground.contracts.analysis import Analysis, DataError, EmbeddingSpace, Findings, require

Distance = Literal["cosine", "euclidean"]
BLOCK = 2048


class PiAnalysis(Analysis):
    """`distance` is cosine (the code) or euclidean (nothing in the text decides)."""

    def __init__(self, *, distance: Distance = "cosine") -> None:
        self.distance = distance

    def measure(self, space: EmbeddingSpace) -> Findings:
        order = np.argsort(space.row_classes, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(space.row_classes[order])) + 1)
        require(len(members) > 1, "pi needs two classes at least; there is one", DataError)
        require(any(len(rows) > 1 for rows in members), "pi needs a class of two rows at least", DataError)
        means = np.stack([space.rows(rows).mean(0) for rows in members])
        intra = float(np.mean([self._mean(space.rows(rows)) for rows in members if len(rows) > 1]))
        inter = self._mean(means)
        n_lone = sum(len(rows) == 1 for rows in members)
        remarks = (f"{n_lone} classes of one row are left out of pi_intra",) if n_lone else ()
        values = {"pi_intra": intra, "pi_inter": inter, "pi_ratio": intra / max(inter, 1e-8)}
        return Findings(values=values, remarks=remarks)

    def _mean(self, rows: np.ndarray) -> float:
        """Return the mean distance over ordered pairs of different rows."""
        n = len(rows)
        if self.distance == "cosine":
            unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
            total = unit.sum(0)
            # The sum of all products is the squared length of the sum; each row with itself is taken out again.
            return float(1 - (total @ total - np.einsum("ij,ij->", unit, unit)) / (n * (n - 1)))
        lengths = np.einsum("ij,ij->i", rows, rows)
        summed = 0.0
        for begin in range(0, n, BLOCK):
            some = slice(begin, begin + BLOCK)
            squared = lengths[some, None] + lengths - 2 * rows[some] @ rows.T
            squared[np.arange(len(squared)), begin + np.arange(len(squared))] = 0
            summed += float(np.sqrt(np.maximum(squared, 0)).sum())
        return summed / (n * (n - 1))
