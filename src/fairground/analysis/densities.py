"""Distance densities: how the distances of positive and of negative pairs are distributed, and how much they overlap.

Formula
    p_+(d), p_-(d): histograms, of area one, of |z_i - z_j| over pairs i < j of one class and of two
    overlap = integral of min(p_+, p_-)

Paper
    Ustinova and Lempitsky, "Learning deep embeddings with histogram loss", NIPS 2016, which trains on these densities.

Departures from the paper
    Distances instead of similarities. At most `max_rows` evenly spaced rows are paired; a remark says so when there are
    more.
"""

import numpy as np

from fairground.contracts.analysis import Analysis, DataError, EmbeddingSpace, Findings, require
from fairground.functional.pair_distances import pair_blocks, spaced_rows


class DensitiesAnalysis(Analysis):
    """`n_bins` from distance 0 to the largest; `max_rows` is how many rows are paired at most."""

    bounds = {"n_bins": "[2, inf)", "max_rows": "[2, inf)"}

    def __init__(self, *, n_bins: int = 100, max_rows: int = 8192) -> None:
        self.n_bins, self.max_rows = n_bins, max_rows

    def measure(self, space: EmbeddingSpace) -> Findings:
        chosen = spaced_rows(space.n_rows, self.max_rows)
        rows, classes = space.rows(chosen), space.row_classes[chosen]
        # No two rows are farther apart than twice the longest is long: 2 on the unit sphere.
        edges = np.linspace(0, 2 * float(np.linalg.norm(rows, axis=1).max()) or 1.0, self.n_bins + 1)
        counts = np.zeros((2, self.n_bins))
        sums = np.zeros(2)
        for squared, is_same in pair_blocks(rows, classes):
            distances = np.sqrt(squared)
            for kind in (0, 1):
                some = distances[is_same == bool(kind)]
                counts[kind] += np.histogram(np.minimum(some, edges[-1]), edges)[0]
                sums[kind] += some.sum()
        n_negative, n_positive = counts.sum(1)
        require(n_positive > 0, "densities need two rows of one class among those paired", DataError)
        require(n_negative > 0, "densities need two classes", DataError)
        shares = counts / counts.sum(1, keepdims=True)
        width = edges[1] - edges[0]
        remarks = (f"densities over {len(rows)} of {space.n_rows} rows",) if len(rows) < space.n_rows else ()
        return Findings(
            values={
                "overlap": float(np.minimum(shares[0], shares[1]).sum()),
                "mean_positive_distance": float(sums[1] / n_positive),
                "mean_negative_distance": float(sums[0] / n_negative),
            },
            curves={"edges": edges, "positive_density": shares[1] / width, "negative_density": shares[0] / width},
            remarks=remarks,
        )
