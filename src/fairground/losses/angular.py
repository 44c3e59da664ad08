"""Angular loss: the negative must lie outside a cone around the midpoint of anchor and positive.

Formula
    L = angular_weight * mean over (a, p) of  log(1 + sum_n exp( 4 t^2 (z_a + z_p).z_n - 2 (1 + t^2) z_a.z_p ))
        + npair_weight * mean over (a, p) of  log(1 + sum_n exp(x_a.x_n - x_a.x_p))  + norm_weight * mean_i ||x_i||
    with t = tan(alpha), z the unit vector of the raw embedding x, n over samples of other classes.

Paper
    Wang, Zhou, Wen, Liu and Lin, "Deep Metric Learning with Angular Loss", ICCV 2017, section 3.3.

Departures from the paper
    All ordered positive pairs by default; the paper and Roth et al. take one positive for each anchor, Roth a random
    one (`one_random`, the same for both parts), with npair_weight 1, angular_weight 2 and norm_weight 0.005. Roth's
    equation misprints the exponent; this is the paper's. A miner's negatives take the place of all negatives of their
    anchor; pairs it chose twice count twice.
"""

from math import radians, tan
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples
from fairground.errors import require
from fairground.functional.logsumexp import row_sums_
from fairground.functional.pairs import BatchPairs, batch_pairs, one_random_positive
from fairground.functional.reductions import with_norm_penalty, zero_of
from fairground.kernels.gradients import of_products
from fairground.kernels.tuplets import tuplet_loss
from fairground.spec.space import LogReal, Real


class AngularLoss(Loss):
    """`alpha`, in degrees, bounds the angle at the negative; `normalise` makes the N-pair part one of cosines too."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, Real | LogReal]] = {
        "alpha": Real(low=20, high=60),
        "npair_weight": Real(low=0, high=2),
        "norm_weight": LogReal(low=1e-4, high=1),
    }
    on_sphere = False

    def __init__(
        self,
        *,
        alpha: float = 45.0,
        angular_weight: float = 1.0,
        npair_weight: float = 0.0,
        positives: Literal["all", "one_random"] = "all",
        normalise: bool = False,
        norm_weight: float = 0.0,
        norm_power: Literal[1, 2] = 1,
    ) -> None:
        super().__init__()
        require(0 < alpha < 90, f"angular.alpha must be between 0 and 90 degrees; got {alpha}")
        require(angular_weight >= 0, f"angular.angular_weight must not be negative; got {angular_weight}")
        require(npair_weight >= 0, f"angular.npair_weight must not be negative; got {npair_weight}")
        require(
            positives in ("all", "one_random"), f"angular.positives must be 'all' or 'one_random'; got '{positives}'"
        )
        require(norm_weight >= 0, f"angular.norm_weight must not be negative; got {norm_weight}")
        require(norm_power in (1, 2), f"angular.norm_power must be 1 or 2; got {norm_power}")
        self.alpha = alpha
        self.angular_weight = angular_weight
        self.npair_weight = npair_weight
        self.positives = positives
        self.normalise = normalise
        self.norm_weight = norm_weight
        self.norm_power = norm_power
        self.on_sphere = normalise or npair_weight == 0

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the weighted parts; the norm's price alone without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
        if self.positives == "one_random":
            pairs = one_random_positive(pairs, generator)
        loss = zero_of(embeddings)
        if pairs.are_complete:
            # All pairs come in both orders, with one and the same term.
            half = pairs.where(pairs.anchor < pairs.positive) if tuples is None and self.positives == "all" else pairs
            loss = of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, half), normalise=True)
        if pairs.are_complete and self.npair_weight > 0:
            loss = loss + self.npair_weight * tuplet_loss(embeddings, pairs, normalise=self.normalise)
        return with_norm_penalty(loss, embeddings, self.norm_weight, self.norm_power)

    def _loss_and_slopes(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        t2 = tan(radians(self.alpha)) ** 2
        share = self.angular_weight / len(pairs.anchor)
        closeness = 2 * (1 + t2) * cosines.take(pairs.place)
        by_positive = cosines.mul_(4 * t2)
        by_anchor = pairs.keep_negatives_(by_positive.clone())
        loss, slopes = cosines.new_zeros(()), torch.zeros_like(cosines)
        # As many pairs at a time as the batch has rows: no block is larger than the matrix of cosines.
        for first in range(0, len(pairs.anchor), pairs.n):
            block = slice(first, first + pairs.n)
            anchor, positive = pairs.anchor[block], pairs.positive[block]
            exponents = by_anchor.index_select(0, anchor).add_(by_positive.index_select(0, positive))
            exponents.sub_(closeness[block].unsqueeze(1))
            sums = row_sums_(exponents, plus_one=True, within=10 * t2 + 2)
            loss += sums.log.sum()
            shares = sums.shares_(torch.full_like(sums.log, share))
            closer = shares.sum(1)
            slopes.index_add_(0, anchor, shares, alpha=4 * t2).index_add_(0, positive, shares, alpha=4 * t2)
            slopes.put_(pairs.place[block], closer.mul_(-2 * (1 + t2)), accumulate=True)
        return loss * share, slopes
