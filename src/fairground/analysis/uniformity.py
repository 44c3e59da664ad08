"""Uniformity: how evenly embeddings spread over the sphere.

Formula
    uniformity = log mean over pairs i < j of exp(-t |z_i - z_j|^2)

Paper
    Wang and Isola, "Understanding contrastive representation learning through alignment and uniformity on the
    hypersphere", ICML 2020.

Departures from the paper
    At most `max_rows` evenly spaced rows are paired; a remark says so when there are more.
"""

import numpy as np

from fairground.contracts.analysis import Analysis, DataError, EmbeddingSpace, Findings, require
from fairground.functional.pair_distances import pair_blocks, spaced_rows


class UniformityAnalysis(Analysis):
    """`t` is the sharpness of the kernel, `max_rows` how many rows are paired at most."""

    bounds = {"t": "(0, inf)", "max_rows": "[2, inf)"}

    def __init__(self, *, t: float = 2.0, max_rows: int = 8192) -> None:
        self.t, self.max_rows = t, max_rows

    def measure(self, space: EmbeddingSpace) -> Findings:
        require(space.n_rows > 1, "uniformity needs two rows at least", DataError)
        rows = spaced_rows(space.n_rows, self.max_rows)
        total, count = 0.0, 0
        for squared, _ in pair_blocks(space.rows(rows), np.zeros(len(rows))):
            total += float(np.exp(-self.t * squared).sum())
            count += len(squared)
        remarks = (f"uniformity over {len(rows)} of {space.n_rows} rows",) if len(rows) < space.n_rows else ()
        return Findings(values={"uniformity": float(np.log(total / count))}, remarks=remarks)
