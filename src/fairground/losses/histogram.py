"""Histogram loss: the probability that a random negative pair is more alike than a random positive pair.

Formula
    nodes t_r = -1 + 2 r / (nodes - 1), r = 0..nodes-1; weight w(s, r) = max(0, 1 - |s - t_r| (nodes - 1) / 2)
    h+(r), h-(r) = mean over positive, negative unordered pairs of w(s_ij, r), with s the cosine
    L = sum_r h-(r) sum_{q <= r} h+(q)

Paper
    Ustinova and Lempitsky, "Learning Deep Embeddings with Histogram Loss", NIPS 2016, section 3.

Departures from the paper
    The paper's closed intervals count a cosine on a node twice; the triangular weight does not. Cosines are kept within
    [-1, 1]. `roth_code` finds nodes by comparing floating-point numbers, as the code of Roth et al. does: harmless for
    65 nodes, but for the 11 of their Stanford Online Products runs the upper node is missed in 6 of 10 intervals.
"""

from typing import ClassVar

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples, as_pairs
from fairground.errors import require
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.functional.soft_rank import soft_bins_
from fairground.kernels.gradients import of_products
from fairground.spec.space import Integer


class HistogramLoss(Loss):
    """`nodes` is the number of points the cosines, -1 to 1, are rounded to, half to each neighbour."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, Integer]] = {"nodes": Integer(low=5, high=201)}

    def __init__(self, *, nodes: int = 65, roth_code: bool = False) -> None:
        super().__init__()
        require(nodes >= 3, f"histogram.nodes must be at least 3; got {nodes}")
        self.nodes = nodes
        self.roth_code = roth_code

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the overlap of the two histograms; 0 without a positive or without a negative pair."""
        pairs = batch_pairs(embeddings, labels, None if tuples is None else _both_ways(as_pairs(tuples)))
        if not pairs.are_complete:
            return zero_of(embeddings)
        return of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, pairs), normalise=True)

    def _loss_and_slopes(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        positions = cosines.add_(1).mul_((self.nodes - 1) / 2).clamp_(0, self.nodes - 1)
        positive_slot, positive_fraction = soft_bins_(positions.take(pairs.place), self.nodes - 1)
        slot, fraction = soft_bins_(pairs.keep_negatives_(positions), self.nodes - 1)
        positives, n_positives = self._histogram(positive_slot, positive_fraction)
        negatives, n_negatives = self._histogram(slot.view(-1), fraction.view(-1))
        below = positives.cumsum(0)
        above = negatives.sum() - negatives.cumsum(0) + negatives
        push, pull = self._rates(below) / n_negatives, self._rates(above) / n_positives
        slopes = push.index_select(0, slot.view(-1)).view_as(cosines)
        slopes.put_(pairs.place, pull.index_select(0, positive_slot), accumulate=True)
        return negatives @ below, slopes

    def _histogram(self, slot: Tensor, fraction: Tensor) -> tuple[Tensor, Tensor]:
        """Return the normalised histogram (nodes,) and the number of values; slot 0 holds what is not to count."""
        counts = torch.bincount(slot, minlength=self.nodes)[1:]
        fractions = torch.bincount(slot, fraction, minlength=self.nodes)[1:]
        finds_lower, finds_upper = self._found(fractions)
        total = counts.sum()
        histogram = fractions.new_zeros(self.nodes)
        histogram[:-1] += (counts - fractions) * finds_lower
        histogram[1:] += fractions * finds_upper
        return histogram / total, total

    def _rates(self, slopes: Tensor) -> Tensor:
        """Return how fast the loss rises as a value moves through each slot, given its slopes (nodes,) by the nodes."""
        finds_lower, finds_upper = self._found(slopes)
        rates = torch.zeros_like(slopes)
        rates[1:] = (slopes[1:] * finds_upper - slopes[:-1] * finds_lower) * ((self.nodes - 1) / 2)
        return rates

    def _found(self, like: Tensor) -> tuple[Tensor, Tensor] | tuple[int, int]:
        """Return for each interval whether its lower and its upper node get their share: all do without `roth_code`."""
        if not self.roth_code:
            return 1, 1
        width = 2 / (self.nodes - 1)
        support = [r * width - 1 for r in range(self.nodes - 1)] + [1.0]
        lower = [r * width - 1 == support[r] for r in range(self.nodes - 1)]
        upper = [r * width - 1 == support[r + 1] - width for r in range(self.nodes - 1)]
        return like.new_tensor(lower), like.new_tensor(upper)

    def known_bugs(self) -> tuple[str, ...]:
        """Return what `roth_code` does with this number of nodes."""
        if not self.roth_code:
            return ()
        _, upper = self._found(torch.zeros(()))
        n_lost = self.nodes - 1 - int(torch.as_tensor(upper).sum())
        return (
            f"histogram.roth_code drops the upper node in {n_lost} of {self.nodes - 1} intervals, as the code of Roth "
            "et al. does by comparing floating-point numbers",
        )


def _both_ways(pairs: Pairs) -> Pairs:
    """Return each pair in both orders: the histogram is over unordered pairs, and each then counts twice."""
    return Pairs(
        torch.cat([pairs.positive_anchor, pairs.positive]),
        torch.cat([pairs.positive, pairs.positive_anchor]),
        torch.cat([pairs.negative_anchor, pairs.negative]),
        torch.cat([pairs.negative, pairs.negative_anchor]),
    )
