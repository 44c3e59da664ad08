"""FastAP: average precision of each anchor's ranking, by histograms of distances that a gradient can pass through.

Formula
    nodes v_l = 4 l / bins, l = 0..bins, on squared distances D of unit vectors; weight max(0, 1 - |D - v_l| bins / 4)
    h+_l, h-_l = sums of the weights of an anchor's positives, negatives;  H+, H = cumulative sums of h+, h+ + h-
    FastAP_i = 1/|P(i)| sum_{l: H_l > 0} h+_l H+_l / H_l ;  L = mean over anchors with positives of  1 - FastAP_i

Paper
    Cakir, He, Xia, Kulis and Sclaroff, "Deep Metric Learning to Rank", CVPR 2019, section 3.

Departures from the paper
    None in the formula. The number of bins was tuned by the Reality Check: 17, 27, 16, and 86 for batches of 256.
"""

from typing import ClassVar

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Tuples
from fairground.errors import require
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.functional.soft_rank import soft_bins_
from fairground.kernels.gradients import of_products
from fairground.spec.space import Integer


class FastApLoss(Loss):
    """`bins` is the number of intervals the squared distances, 0 to 4, are cut into."""

    tunable: ClassVar[dict[str, Integer]] = {"bins": Integer(low=2, high=250)}

    def __init__(self, *, bins: int = 10) -> None:
        super().__init__()
        require(bins >= 2, f"fast_ap.bins must be at least 2; got {bins}")
        self.bins = bins

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over anchors with positives; 0 without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples)
        if not pairs.are_complete:
            return zero_of(embeddings)
        return of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, labels, pairs), normalise=True)

    def _loss_and_slopes(self, cosines: Tensor, labels: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        if not cosines.is_cpu:
            return self._by_tables(cosines, pairs)
        n_positives = torch.bincount(pairs.anchor, minlength=pairs.n)
        loss = _by_loops(cosines.numpy(), labels.long().numpy(), n_positives.numpy(), self.bins)
        return cosines.new_full((), loss), cosines

    def _by_tables(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        # D bins / 4 with D = 2 - 2 s; the anchor itself has no place in its own ranking.
        positions = cosines.sub_(1).mul_(-self.bins / 2).clamp_(0, self.bins).fill_diagonal_(-torch.inf)
        slot, fraction = soft_bins_(positions, self.bins)
        row = torch.arange(0, pairs.n * (self.bins + 2), self.bins + 2, device=slot.device)
        where = row.take(pairs.anchor) + slot.take(pairs.place)
        positives = self._cumulative(where, fraction.take(pairs.place), pairs.n)
        everyone = self._cumulative(slot.add_(row.unsqueeze(1)).view(-1), fraction.view(-1), pairs.n)
        precision, push, pull = _precision_and_slopes(positives, everyone)
        n_positives = positives[:, -1]
        weights = (n_positives > 0) / n_positives.clamp_min(1) / n_positives.count_nonzero()
        step = (weights * (self.bins / 2)).unsqueeze(1)
        slopes = push.mul_(step).view(-1).index_select(0, slot.view(-1)).view_as(cosines)
        slopes.put_(pairs.place, -pull.mul_(step).take(where), accumulate=True)
        return 1 - precision @ weights, slopes

    def _cumulative(self, where: Tensor, fraction: Tensor, n: int) -> Tensor:
        """Return the cumulative weight (n, bins + 1) at every node of values at `where` in a flat (n, slots) table.

        A value in bin r gives all of its weight to the nodes above r together, and all but its fraction up to node r.
        """
        slots = self.bins + 2
        counts = torch.bincount(where, minlength=n * slots).view(n, slots)[:, 1:]
        fractions = torch.bincount(where, fraction, minlength=n * slots).view(n, slots)[:, 1:]
        return counts.cumsum(1) - fractions


def _precision_and_slopes(positives: Tensor, everyone: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sum over l of h+_l H+_l / H_l for H+, H (n, bins + 1), and slot by slot (n, bins + 2) two rates:
    what it gains as any value of the slot moves away, and what it loses, on top, if that value is a positive.
    """
    at_node = positives.diff(prepend=positives.new_zeros(len(positives), 1))
    inverse = torch.where(everyone > 0, everyone, torch.inf).reciprocal_()
    ratio = positives * inverse
    gain, loss = everyone.new_zeros(2, len(everyone), everyone.shape[1] + 1)
    weight = at_node * inverse
    torch.mul(weight, ratio, out=gain[:, 1:])
    loss[:, 1:-1] = (weight + ratio)[:, :-1] - ratio[:, 1:]
    return (at_node * ratio).sum(1), gain, loss


@numba.njit(nogil=True, cache=True)
def _by_loops(cosines: np.ndarray, labels: np.ndarray, n_positives: np.ndarray, bins: int) -> float:
    """Return the loss and overwrite the cosines by its slopes: the same, anchor by anchor, in main memory."""
    n, loss = len(cosines), 1.0
    slot = np.empty(n, np.int64)
    everyone, positives, ratio, gain, extra = np.zeros((5, bins + 1))
    for i in range(n):
        row = cosines[i]
        if n_positives[i] == 0:
            row[:] = 0
            continue
        everyone[:] = 0
        positives[:] = 0
        for j in range(n):
            position = min(max((1 - row[j]) * (bins / 2), 0.0), float(bins))
            slot[j] = 0 if np.isnan(position) else min(int(position), bins - 1)
            fraction = position - slot[j]
            if j != i:
                everyone[slot[j]] += 1 - fraction
                everyone[slot[j] + 1] += fraction
                if labels[j] == labels[i]:
                    positives[slot[j]] += 1 - fraction
                    positives[slot[j] + 1] += fraction
        weight = 1 / (n_positives[i] * np.count_nonzero(n_positives))
        loss -= weight * _rank(everyone, positives, ratio, gain, extra)
        step = weight * bins / 2
        for j in range(n):
            is_positive = labels[j] == labels[i]
            row[j] = step * (gain[slot[j]] - (extra[slot[j]] if is_positive else 0.0))
        row[i] = 0
    return loss


@numba.njit(nogil=True, cache=True)
def _rank(everyone: np.ndarray, positives: np.ndarray, ratio: np.ndarray, gain: np.ndarray, extra: np.ndarray) -> float:
    """Return the sum over l of h+_l H+_l / H_l, and fill in its rates, slot by slot, as in `_precision_and_slopes`."""
    score, above, own_above = 0.0, 0.0, 0.0
    for node in range(len(everyone)):
        above += everyone[node]
        own_above += positives[node]
        inverse = 0.0 if above <= 0 else 1 / above
        ratio[node] = own_above * inverse
        score += positives[node] * ratio[node]
        gain[node] = positives[node] * inverse * ratio[node]
        extra[node] = positives[node] * inverse + ratio[node]
        if node > 0:
            extra[node - 1] -= ratio[node]
    return score
