"""Collapse: whether the embeddings have shrunk to a point, a line or few dimensions, and which.

Formula
    spread = mean |z_i - mean(z)|^2 on unit vectors
    effective dimensions = exp(H(q)),  q: shares of the variance along the principal axes
    point: spread < 0.001;  line: one axis has more than 95 % of the variance;  few dimensions: fewer than 3 % of those
    there could be, or fewer than 2

Paper
    Jing et al., "Understanding dimensional collapse in contrastive self-supervised learning", ICLR 2022, for collapse
    of dimensions; the limits are ours.

Departures from the paper
    Looks at no more than `max_rows` evenly spaced rows.
"""

import torch

from fairground.contracts.analysis import Analysis, DataError, EmbeddingSpace, Findings, require
from fairground.functional.spectral import collapse_of, spaced_rows


class CollapseAnalysis(Analysis):
    """`max_rows` is how many rows are looked at; training calls `collapse_of` on a batch itself."""

    def __init__(self, *, max_rows: int = 4096) -> None:
        require(max_rows >= 2, f"collapse.max_rows must be at least 2; got {max_rows}")
        self.max_rows = max_rows

    def measure(self, space: EmbeddingSpace) -> Findings:
        require(space.n_rows > 1, "collapse needs two rows at least", DataError)
        seen = collapse_of(torch.from_numpy(space.rows(spaced_rows(space.n_rows, self.max_rows))))
        remarks = (f"collapse ({seen.kind}): {seen.sentence}",) if seen.is_collapsed else ()
        return Findings(
            values={
                "is_collapsed": float(seen.is_collapsed),
                "spread": seen.spread,
                "effective_dimensions": seen.effective_dimensions,
            },
            remarks=remarks,
        )
