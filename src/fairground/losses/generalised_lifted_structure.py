"""Generalised lifted structure loss: all positives of an anchor together against all its negatives together.

Formula
    L = mean over anchors a of  max(0, log sum_p e^(d_ap) + log sum_n e^(margin - d_an))  + norm_weight * mean_i ||x_i||
    with d the Euclidean distance of raw embeddings, a over the anchors with a positive and a negative.

Paper
    Hermans, Beyer and Leibe, "In Defense of the Triplet Loss for Person Re-Identification", arXiv 2017, equation 7.

Departures from the paper
    The paper sums over anchors (`reduction = sum`); the mean does not grow with the batch. Roth et al. print the
    squared norm (`norm_power = 2`) and allow p = a; their code has the plain norm, weighed 0.005, and excludes p = a.
    pytorch-metric-learning normalises, and counts anchors without a positive, which are left out here.
"""

from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Pairs, Real, Triplets, Tuples
from fairground.functional import distances, normalize, pair_weights, weighted_logsumexp, with_norm_penalty
from fairground.kernels import log_sum_losses


class GeneralisedLiftedStructureLoss(Loss):
    """`margin` is the distance beyond which a negative hardly counts; `normalise` puts embeddings on the sphere."""

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"margin": Real(low=-0.2, high=2.0), "norm_weight": LogReal(low=1e-4, high=1)}
    bounds = {"norm_weight": "[0, inf)"}
    on_sphere: bool = False
    kernel = log_sum_losses.generalised_lifted_structure

    def __init__(
        self,
        *,
        margin: float = 1.0,
        normalise: bool = False,
        reduction: Literal["mean_anchor", "sum"] = "mean_anchor",
        norm_weight: float = 0.0,
        norm_power: Literal[1, 2] = 1,
    ) -> None:
        super().__init__()
        self.margin, self.reduction, self.norm_weight, self.norm_power = margin, reduction, norm_weight, norm_power
        self.on_sphere = self.normalise = normalise

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the reduced terms; the norm's price alone without a positive or without a negative."""
        x = normalize(embeddings) if self.normalise else embeddings
        d = distances(x, x)
        pairs = pair_weights(embeddings, labels, tuples)
        positives = weighted_logsumexp(d, pairs.positive)
        negatives = weighted_logsumexp(self.margin - d, pairs.negative)
        # 0 where an anchor lacks either.
        loss = (positives + negatives).relu().sum()
        if self.reduction == "mean_anchor":
            is_eligible = pairs.positive.any(1) & pairs.negative.any(1)
            loss = loss / is_eligible.sum().clamp_min(1)
        return with_norm_penalty(loss, embeddings, self.norm_weight, self.norm_power)
