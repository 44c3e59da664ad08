"""Threshold-consistent margin: pairs beyond two fixed cosines pay, so that one threshold fits all classes.

Formula
    R = positive_weight * mean{ m+ - s : positive pairs with s <= m+ }
        + negative_weight * mean{ s - m- : negative pairs with s >= m- },   s the cosine; nothing costs 0

Paper
    Zhang, Guo, Ding, Chen, Xiao, Roth, Wu and Xia, "Threshold-Consistent Margin Loss for Open-World Deep Metric
    Learning", ICLR 2024, equation 6.

Departures from the paper
    None known; the numbers of pairs are constants to the gradient.
"""

import torch
from torch import Tensor

from fairground.contracts.regulariser import LogReal, Loss, Real, Regulariser
from fairground.functional import mean_of_parts, normalize, pair_masks, rows_of, sum_over_rows, weighted_parts


class ThresholdConsistentMarginRegulariser(Regulariser):
    """`positive_margin` and `negative_margin` are the cosines m+ and m-; a weight multiplies each side."""

    tunable = {
        "positive_margin": Real(low=0.7, high=1.0),
        "negative_margin": Real(low=0.2, high=0.7),
        "positive_weight": LogReal(low=0.1, high=10.0),
        "negative_weight": LogReal(low=0.1, high=10.0),
    }
    bounds = {
        "positive_margin": "[-1, 1]",
        "negative_margin": "[-1, 1]",
        "positive_weight": "[0, inf)",
        "negative_weight": "[0, inf)",
    }

    def __init__(
        self,
        *,
        positive_margin: float = 0.9,
        negative_margin: float = 0.5,
        positive_weight: float = 1.0,
        negative_weight: float = 1.0,
    ) -> None:
        super().__init__()
        self.positive_margin, self.negative_margin = positive_margin, negative_margin
        self.positive_weight, self.negative_weight = positive_weight, negative_weight

    def penalty(self, embeddings: Tensor, labels: Tensor, loss: Loss) -> Tensor:
        z = normalize(embeddings)

        def parts(rows: slice) -> Tensor:
            cosines = rows_of(z, rows) @ z.T
            pairs = pair_masks(labels, rows)
            near, far = self.positive_margin - cosines, cosines - self.negative_margin
            sides = (near, pairs.positive), (far, pairs.negative)
            return torch.stack([weighted_parts(excess, (mask & (excess >= 0)).to(z.dtype)) for excess, mask in sides])

        positives, negatives = sum_over_rows(parts, len(z), len(z))
        return self.positive_weight * mean_of_parts(positives) + self.negative_weight * mean_of_parts(negatives)
