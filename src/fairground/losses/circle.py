"""Circle loss: every pair is pushed in proportion to how far it still has to go.

Formula
    l_a = log(1 + sum_p e^(-gamma alpha_p (s_ap - 1 + margin)) * sum_n e^(gamma alpha_n (s_an - margin)))
    alpha_p = max(0, 1 + margin - s_ap),  alpha_n = max(0, s_an + margin),  both constants to the gradient
    L = mean over anchors with l_a > 0, among those with a positive and a negative; s is the cosine

Paper
    Sun et al., "Circle Loss: A Unified Perspective of Pair Similarity Optimization", CVPR 2020, section 3.

Departures from the paper
    Pairs are taken from labels, anchor by anchor. margin 0.4 and gamma 80 are the paper's values for fine-grained
    retrieval.
"""

from typing import ClassVar

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples
from fairground.errors import require
from fairground.functional.logsumexp import group_sums, row_sums_, softplus
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.kernels.gradients import of_products
from fairground.spec.space import Real


class CircleLoss(Loss):
    """`margin` relaxes the decision boundary, a circle in the plane of s_an and s_ap; `gamma` sharpens it."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, Real]] = {"margin": Real(low=-0.2, high=1.0), "gamma": Real(low=1, high=512)}

    def __init__(self, *, margin: float = 0.4, gamma: float = 80.0) -> None:
        super().__init__()
        require(-1 <= margin <= 1, f"circle.margin must be in [-1, 1], as a cosine; got {margin}")
        require(gamma > 0, f"circle.gamma must be above 0; got {gamma}")
        self.margin = margin
        self.gamma = gamma

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over anchors with l_a > 0; 0 without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples)
        if not pairs.are_complete:
            return zero_of(embeddings)
        return of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, pairs), normalise=True)

    def _loss_and_slopes(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        positive = cosines.take(pairs.place)
        positive_rate = (1 + self.margin - positive).clamp_min_(0).mul_(-self.gamma)
        positives = group_sums(positive_rate * (positive - 1 + self.margin), pairs.anchor, pairs.n)
        negative_rate = (cosines + self.margin).clamp_min_(0).mul_(self.gamma)
        negatives = row_sums_(pairs.keep_negatives_(cosines.sub_(self.margin).mul_(negative_rate)))
        # Minus infinity, and so a term of 0, where an anchor lacks either.
        pressure = positives.log + negatives.log
        terms = softplus(pressure)
        n_active = (terms > 0).sum().clamp_min_(1)
        push = pressure.sigmoid() / n_active
        slopes = negatives.shares_(push).mul_(negative_rate)
        pull = push.take(pairs.anchor) * positives.shares * positive_rate
        return terms.sum() / n_active, slopes.put_(pairs.place, pull, accumulate=True)
