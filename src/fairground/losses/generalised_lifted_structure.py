"""Generalised lifted structure loss: all positives of an anchor together against all its negatives together.

Formula
    L = mean over anchors a of  max(0, log sum_p e^(d_ap) + log sum_n e^(margin - d_an))  + norm_weight * mean_i ||x_i||
    with d the Euclidean distance of raw embeddings, a over the anchors with a positive and a negative.

Paper
    Hermans, Beyer and Leibe, "In Defense of the Triplet Loss for Person Re-Identification", 2017, equation 7.

Departures from the paper
    The paper sums over anchors (`reduction = sum`); the mean does not grow with the batch. Roth et al. print the
    squared norm (`norm_power = 2`) and allow p = a; their code has the plain norm, weighed 0.005, and excludes p = a.
    pytorch-metric-learning normalises, and counts anchors without a positive, which are left out here.
"""

from math import inf
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples
from fairground.errors import require
from fairground.functional.logsumexp import group_sums, row_sums_
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import with_norm_penalty, zero_of
from fairground.kernels.gradients import of_distances
from fairground.spec.space import LogReal, Real


class GeneralisedLiftedStructureLoss(Loss):
    """`margin` is the distance beyond which a negative hardly counts; `normalise` puts embeddings on the sphere."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, Real | LogReal]] = {
        "margin": Real(low=-0.2, high=2.0),
        "norm_weight": LogReal(low=1e-4, high=1),
    }
    on_sphere = False

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
        name = "generalised_lifted_structure"
        require(
            reduction in ("mean_anchor", "sum"), f"{name}.reduction must be 'mean_anchor' or 'sum'; got '{reduction}'"
        )
        require(norm_weight >= 0, f"{name}.norm_weight must not be negative; got {norm_weight}")
        require(norm_power in (1, 2), f"{name}.norm_power must be 1 or 2; got {norm_power}")
        self.margin = margin
        self.normalise = normalise
        self.reduction = reduction
        self.norm_weight = norm_weight
        self.norm_power = norm_power
        self.on_sphere = normalise

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the reduced terms; the norm's price alone without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples)
        loss = zero_of(embeddings)
        if pairs.are_complete:
            loss = of_distances(embeddings, lambda d: self._loss_and_slopes(d, pairs), normalise=self.normalise)
        return with_norm_penalty(loss, embeddings, self.norm_weight, self.norm_power)

    def _loss_and_slopes(self, distances: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        widest = abs(self.margin) + 2 if self.normalise else inf
        positives = group_sums(distances.take(pairs.place), pairs.anchor, pairs.n, within=widest)
        negatives = row_sums_(pairs.keep_negatives_(self.margin - distances), within=widest)
        # Minus infinity, and so 0, where an anchor lacks either.
        violation = positives.log + negatives.log
        eligible = (violation > -torch.inf).sum().clamp_min_(1) if self.reduction == "mean_anchor" else 1
        pull = (violation > 0).to(violation.dtype) / eligible
        slopes = negatives.shares_(-pull)
        slopes.put_(pairs.place, positives.shares * pull.take(pairs.anchor), accumulate=True)
        return violation.clamp_min_(0).sum() / eligible, slopes
