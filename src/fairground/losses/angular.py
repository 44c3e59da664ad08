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
from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Pairs, Real, Triplets, Tuples
from fairground.functional import means_and_log_sums, memory_blocks, normalize
from fairground.functional.pairs import PairWeights, one_random_positive, pair_weights
from fairground.kernels import log_sum_losses


class AngularLoss(Loss):
    """`alpha`, in degrees, bounds the angle at the negative; `normalise` makes the N-pair part one of cosines too."""

    accepts = (Pairs, Triplets)
    tunable = {
        "alpha": Real(low=20, high=60),
        "npair_weight": Real(low=0, high=2),
        "norm_weight": LogReal(low=1e-4, high=1),
    }
    bounds = {"alpha": "(0, 90)", "angular_weight": "[0, inf)", "npair_weight": "[0, inf)", "norm_weight": "[0, inf)"}
    on_sphere: bool = False
    kernel = log_sum_losses.angular

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
        self.alpha, self.angular_weight, self.npair_weight = alpha, angular_weight, npair_weight
        self.positives, self.normalise, self.norm_weight = positives, normalise, norm_weight
        self.norm_power = norm_power
        self.on_sphere = normalise or npair_weight == 0
        self.is_random = positives == "one_random"

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the weighted parts; the norm's price alone without a positive or without a negative."""
        pairs = pair_weights(embeddings, labels, tuples, repeats=True)
        if self.positives == "one_random":
            pairs = one_random_positive(pairs, generator)
        z = normalize(embeddings)
        cosines = z @ z.T
        loss = self.angular_weight * self._angular(cosines, pairs)
        if self.npair_weight > 0:
            products = cosines if self.normalise else embeddings @ embeddings.T
            terms = means_and_log_sums.tuplet_terms(pairs, negative=products, positive=products)
            loss = loss + self.npair_weight * means_and_log_sums.weighted_mean(terms, pairs.positive)
        return means_and_log_sums.with_norm_penalty(loss, embeddings, self.norm_weight, self.norm_power)

    def _angular(self, s: Tensor, pairs: PairWeights) -> Tensor:
        t2 = tan(radians(self.alpha)) ** 2

        def of_anchors(rows: slice) -> Tensor:
            # Of shape (anchors, positives, negatives).
            exponents = 4 * t2 * (s[rows].unsqueeze(1) + s)
            of_negatives = means_and_log_sums.weighted_logsumexp(exponents, pairs.negative[rows].unsqueeze(1))
            terms = means_and_log_sums.softplus(of_negatives - 2 * (1 + t2) * s[rows])
            return (pairs.positive[rows] * terms).sum()

        return memory_blocks.sum_over_blocks(of_anchors, len(s), len(s) ** 2) / pairs.positive.sum().clamp_min(1)
