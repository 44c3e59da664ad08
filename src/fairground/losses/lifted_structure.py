"""Lifted structure loss: each positive pair is weighed against every negative of both its ends.

Formula
    J_ap = log( sum_{n in N(a)} e^(margin - d_an) + sum_{n in N(p)} e^(margin - d_pn) ) + d_ap
    L = mean over ordered positive pairs (a, p) of  max(0, J_ap)^2 / 2
    with d the Euclidean distance of unit vectors.

Paper
    Oh Song, Xiang, Jegelka and Savarese, "Deep Metric Learning via Lifted Structured Feature Embedding", CVPR 2016,
    section 4.

Departures from the paper
    Embeddings are normalised; the paper leaves their length free. A positive pair without any negative has J = minus
    infinity and adds 0. Pairs a miner chose twice count twice.
"""

from typing import ClassVar

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples
from fairground.errors import require
from fairground.functional.logsumexp import row_sums_
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.kernels.gradients import of_distances
from fairground.spec.space import Real


class LiftedStructureLoss(Loss):
    """`margin` is the distance beyond which a negative hardly counts."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, Real]] = {"margin": Real(low=-0.2, high=2.0)}

    def __init__(self, *, margin: float = 1.0) -> None:
        super().__init__()
        require(
            -2 <= margin <= 2, f"lifted_structure.margin must be in [-2, 2], as distances on a sphere; got {margin}"
        )
        self.margin = margin

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over positive pairs; 0 without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
        if not pairs.are_complete:
            return zero_of(embeddings)
        return of_distances(embeddings, lambda distances: self._loss_and_slopes(distances, pairs), normalise=True)

    def _loss_and_slopes(self, distances: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        apart = distances.take(pairs.place)
        negatives = row_sums_(pairs.keep_negatives_(self.margin - distances), within=abs(self.margin) + 2)
        at_anchor, at_positive = negatives.log.take(pairs.anchor), negatives.log.take(pairs.positive)
        violation = (torch.logaddexp(at_anchor, at_positive) + apart).clamp_min_(0)
        pull = violation / len(apart)
        # How much of the sum of a pair comes from its anchor's negatives; 0 / 0 where neither end has any.
        from_anchor = (at_anchor - at_positive).sigmoid().nan_to_num_()
        push = pairs.per_anchor(pull * from_anchor).index_add_(0, pairs.positive, pull * (1 - from_anchor))
        slopes = negatives.shares_(-push)
        return violation.square().mean() / 2, slopes.put_(pairs.place, pull, accumulate=True)
