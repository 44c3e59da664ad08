"""Losses on soft ranks and histograms of similarities, with gradients: recall@k, smooth-AP, FastAP, histogram.

Where the query itself is to be ranked, as in the authors' code of the first two, the formula does it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy import ndarray
from torch import Tensor, addcmul, cat, minimum, where, zeros_like

from fairground.contracts.kernel_or_formula import KernelResult, LossInputs
from fairground.functional.pairs import pair_masks
from fairground.kernels import class_order, kernel_of_products, no_gradient


def smooth_ap(loss: Any, inputs: LossInputs) -> KernelResult | None:
    """Return 1 minus the mean over anchors of the mean, over their positives, of rank among positives over rank."""
    embeddings, labels, _, _ = inputs
    if loss.query_in_ranking:
        return None
    members, negative = pair_masks(labels)
    if not (members.any() and negative.any()):
        return no_gradient(embeddings)
    anchor, positive = members.nonzero(as_tuple=True)
    n_positives = members.sum(1, dtype=embeddings.dtype)
    weights = 1 / (n_positives.take(anchor) * int(n_positives.count_nonzero()))
    marks = members.to(embeddings.dtype)

    def rule(cosines: Tensor) -> tuple[Tensor, Tensor]:
        ranking = _Ranking(cosines, anchor, positive, loss.temperature)
        among_all, among_members = ranking.ranks(marks)
        precision = among_members / among_all
        slopes = ranking.slopes(weights * precision / among_all, -weights / among_all, marks)
        return 1 - precision @ weights, slopes

    return kernel_of_products(embeddings, rule, normalise=True)


def recall_at_k(loss: Any, inputs: LossInputs) -> KernelResult | None:
    """Return 1 minus the mean over anchors and values of k of how many positives reach the first k places."""
    embeddings, labels, _, _ = inputs
    if loss.query_in_ranking:
        return None
    members, negative = pair_masks(labels)
    if not (members.any() and negative.any()):
        return no_gradient(embeddings)
    anchor, positive = members.nonzero(as_tuple=True)
    places = embeddings.new_tensor(loss.ks)
    n_positives = members.sum(1, dtype=embeddings.dtype).unsqueeze(1)
    # An anchor without positives has a recall of 0 / 0, and no part in the mean.
    weights = where(n_positives > 0, 1 / minimum(places, n_positives), 0)
    weights /= int(n_positives.count_nonzero()) * len(loss.ks)

    def rule(cosines: Tensor) -> tuple[Tensor, Tensor]:
        ranking = _Ranking(cosines, anchor, positive, loss.rank_temperature)
        ranks, _ = ranking.ranks(None)
        is_within = ((places - ranks.unsqueeze(1)) / loss.count_temperature).sigmoid_()
        n_within = cosines.new_zeros(weights.shape).index_add_(0, anchor, is_within)
        recall = (minimum(n_within, places) * weights).sum()
        rate = (weights * (n_within <= places))[anchor] * (is_within - is_within.square())
        return 1 - recall, ranking.slopes(rate.sum(1) / loss.count_temperature, None, None)

    return kernel_of_products(embeddings, rule, normalise=True)


class _Ranking(NamedTuple):
    """Pairs `anchor`, `positive` (k,) ranked by `cosines` (n, n) among all rows but the anchor."""

    cosines: Tensor
    anchor: Tensor
    positive: Tensor
    temperature: float

    def ranks(self, members: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the rank (k,) of each pair among all, and among those marked 1 in the anchor's row of `members`."""
        among_all, among_members = [], []
        for block, above in self._blocks():
            among_all.append(above.sum(1))
            if members is not None:
                among_members.append(above.mul_(members.index_select(0, self.anchor[block])).sum(1))
        ranks = cat(among_all).add_(1)
        return ranks, cat(among_members).add_(1) if among_members else ranks

    def slopes(self, by_rank: Tensor, by_member_rank: Tensor | None, members: Tensor | None) -> Tensor:
        """Return the derivatives (n, n) by the cosines of a loss with these derivatives (k,) by the ranks."""
        slopes = zeros_like(self.cosines)
        place = self.anchor * len(self.cosines) + self.positive
        for block, above in self._blocks():
            anchor = self.anchor[block]
            rate = by_rank[block].unsqueeze(1)
            if by_member_rank is not None and members is not None:
                rate = addcmul(rate, by_member_rank[block].unsqueeze(1), members.index_select(0, anchor))
            rates = (above - above.square()).mul_(rate).div_(self.temperature)
            slopes.index_add_(0, anchor, rates).put_(place[block], -rates.sum(1), accumulate=True)
        return slopes

    def _blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield slices of the pairs, and how far each row of the batch (m, n) stands above each pair's positive."""
        n = len(self.cosines)
        for first in range(0, len(self.anchor), n):
            block = slice(first, first + n)
            anchor, positive = self.anchor[block].unsqueeze(1), self.positive[block].unsqueeze(1)
            above = self.cosines.index_select(0, self.anchor[block])
            above = above.sub_(above.gather(1, positive)).div_(self.temperature).sigmoid_()
            yield block, above.scatter_(1, positive, 0).scatter_(1, anchor, 0)


def fast_ap(loss: Any, inputs: LossInputs) -> KernelResult:
    """Return 1 minus the mean over anchors with positives of their average precision by histograms."""
    names, embeddings, order = inputs.labels.numpy(), inputs.embeddings, class_order(inputs.labels)
    n_positives = order.n_positives
    if not (order.n_negatives.any() and n_positives.any()):
        return no_gradient(embeddings)

    def rule(cosines: Tensor) -> tuple[Tensor, Tensor]:
        return cosines.new_full((), _by_anchor(cosines.numpy(), names, n_positives, loss.bins)), cosines

    return kernel_of_products(embeddings, rule, normalise=True)


@numba.njit(nogil=True, cache=True)
def _by_anchor(cosines: ndarray, labels: ndarray, n_positives: ndarray, bins: int) -> float:
    """Return the loss and overwrite the cosines by its derivatives."""
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
            slot[j], fraction = _bin_of(-row[j], bins)
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
def _rank(everyone: ndarray, positives: ndarray, ratio: ndarray, gain: ndarray, extra: ndarray) -> float:
    """Return the sum over l of h+_l H+_l / H_l, and fill in two rates for every bin:
    what the sum gains as any value of the bin moves away, and what it loses, on top, if that value is a positive.
    """
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


def histogram(loss: Any, inputs: LossInputs) -> KernelResult:
    """Return the overlap of the histograms of the cosines of positive and of negative pairs, and its gradient."""
    embeddings, labels, tuples, _ = inputs
    positive, negative = loss.unordered_pairs(labels, tuples)
    if not (positive.any() and negative.any()):
        return no_gradient(embeddings)
    lower, upper = loss.finds
    given = (positive.numpy(), negative.numpy(), np.array(lower), np.array(upper))
    return kernel_of_products(embeddings, lambda s: (s.new_full((), _overlap(s.numpy(), *given)), s), normalise=True)


@numba.njit(nogil=True, cache=True)
def _overlap(cosines: ndarray, positive: ndarray, negative: ndarray, lower: ndarray, upper: ndarray) -> float:
    """Return sum_r h-(r) sum_{q <= r} h+(q) and overwrite the cosines by its derivatives, above the diagonal."""
    n, bins = len(cosines), len(lower)
    near, far = np.zeros((2, bins + 1))
    n_positive, n_negative = 0, 0
    for i in range(n):
        for j in range(i + 1, n):
            if positive[i, j]:
                n_positive += 1
                _add(near, cosines[i, j], lower, upper)
            if negative[i, j]:
                n_negative += 1
                _add(far, cosines[i, j], lower, upper)
    near /= n_positive
    far /= n_negative
    below = np.cumsum(near)
    above = np.cumsum(far[::-1])[::-1]
    pull, push = np.empty((2, bins), cosines.dtype)
    for r in range(bins):
        pull[r] = (above[r + 1] * upper[r] - above[r] * lower[r]) * (bins / 2 / n_positive)
        push[r] = (below[r + 1] * upper[r] - below[r] * lower[r]) * (bins / 2 / n_negative)
    for i in range(n):
        cosines[i, : i + 1] = 0
        for j in range(i + 1, n):
            place = _bin_of(cosines[i, j], bins)[0]
            cosines[i, j] = positive[i, j] * pull[place] + negative[i, j] * push[place]
    return float((far * below).sum())


@numba.njit(nogil=True, cache=True)
def _add(histogram: ndarray, cosine: float, lower: ndarray, upper: ndarray) -> None:
    place, fraction = _bin_of(cosine, len(lower))
    histogram[place] += (1 - fraction) * lower[place]
    histogram[place + 1] += fraction * upper[place]


@numba.njit(nogil=True, cache=True)
def _bin_of(cosine: float, bins: int) -> tuple[int, float]:
    """Return the interval a cosine is in, and how far in; one that is not a number is in the first, nowhere in it."""
    position = min(max((cosine + 1) * (bins / 2), 0.0), float(bins))
    place = 0 if np.isnan(position) else min(int(position), bins - 1)
    return place, position - place
