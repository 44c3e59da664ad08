"""Alignment: how near the embeddings of one class lie to each other.

Formula
    alignment = mean over pairs i < j of one class of |z_i - z_j|^alpha

Paper
    Wang and Isola, "Understanding contrastive representation learning through alignment and uniformity on the
    hypersphere", ICML 2020.

Departures from the paper
    Positive pairs are all pairs of one class, where the paper has pairs of views of one image.
"""

import numpy as np

from fairground.contracts.analysis import Analysis, DataError, EmbeddingSpace, Findings, require
from fairground.functional.pair_distances import pair_blocks


class AlignmentAnalysis(Analysis):
    """`alpha` is the power of the distance."""

    bounds = {"alpha": "(0, inf)"}

    def __init__(self, *, alpha: float = 2.0) -> None:
        self.alpha = alpha

    def measure(self, space: EmbeddingSpace) -> Findings:
        order = np.argsort(space.row_classes, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(space.row_classes[order])) + 1)
        total, count = 0.0, 0
        for rows in members:
            for squared, _ in pair_blocks(space.rows(rows), space.row_classes[rows]):
                total += float((squared ** (self.alpha / 2)).sum())
                count += len(squared)
        require(count > 0, "alignment needs a class of two rows at least", DataError)
        return Findings(values={"alignment": total / count})
