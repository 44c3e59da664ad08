"""Losses of soft ranks, Smooth-AP and Recall@k; equals losses of `functional.soft_rank.soft_ranks`.

The rank of a pair (a, p) is 1 + sum_j sigmoid((s_aj - s_ap) / temperature), over all j but p (and a itself). Only the
ranks of positive pairs are wanted. A pair needs a row of the matrix, so pairs are taken as many at a time as the batch
has rows: memory stays O(n^2), and the rows are worked out a second time for the gradient instead of being kept.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.functional.pairs import pair_masks
from fairground.kernels.gradients import kernel_of_products, no_gradient


def smooth_ap(embeddings: Tensor, labels: Tensor, *, temperature: float, query_in_ranking: bool) -> KernelResult:
    """Return 1 minus the mean over anchors of the mean, over their positives, of rank among positives over rank."""
    members, negative = pair_masks(labels)
    if not (members.any() and negative.any()):
        return no_gradient(embeddings)
    n_positives = members.sum(1)
    if query_in_ranking:
        members.diagonal().copy_(n_positives > 0)
    anchor, positive = members.nonzero(as_tuple=True)
    n_ranked = members.sum(1, dtype=embeddings.dtype)
    weights = 1 / (n_ranked.take(anchor) * int(n_positives.count_nonzero()))
    marks = members.to(embeddings.dtype)

    def rule(cosines: Tensor) -> tuple[Tensor, Tensor]:
        ranking = _Ranking(cosines, anchor, positive, temperature, query_in_ranking)
        among_all, among_members = ranking.ranks(marks)
        precision = among_members / among_all
        slopes = ranking.slopes(weights * precision / among_all, -weights / among_all, marks)
        return 1 - precision @ weights, slopes

    return kernel_of_products(embeddings, rule, normalise=True)


def recall_at_k(
    embeddings: Tensor,
    labels: Tensor,
    *,
    ks: Sequence[int],
    rank_temperature: float,
    count_temperature: float,
    query_in_ranking: bool,
) -> KernelResult:
    """Return 1 minus the mean over anchors and values of k of how many positives reach the first k places."""
    members, negative = pair_masks(labels)
    if not (members.any() and negative.any()):
        return no_gradient(embeddings)
    anchor, positive = members.nonzero(as_tuple=True)
    places = embeddings.new_tensor(ks)
    n_positives = members.sum(1, dtype=embeddings.dtype).unsqueeze(1)
    # An anchor without positives has a recall of 0 / 0, and no part in the mean.
    weights = torch.where(n_positives > 0, 1 / torch.minimum(places, n_positives), 0)
    weights /= int(n_positives.count_nonzero()) * len(ks)

    def rule(cosines: Tensor) -> tuple[Tensor, Tensor]:
        ranking = _Ranking(cosines, anchor, positive, rank_temperature, query_in_ranking)
        ranks, _ = ranking.ranks(None)
        is_within = ((places - ranks.unsqueeze(1)) / count_temperature).sigmoid_()
        n_within = cosines.new_zeros(weights.shape).index_add_(0, anchor, is_within)
        recall = (torch.minimum(n_within, places) * weights).sum()
        rate = (weights * (n_within <= places))[anchor] * (is_within - is_within.square())
        return 1 - recall, ranking.slopes(rate.sum(1) / count_temperature, None, None)

    return kernel_of_products(embeddings, rule, normalise=True)


class _Ranking(NamedTuple):
    """Pairs `anchor`, `positive` (k,) ranked by `cosines` (n, n); `counts_anchor` ranks the anchor too."""

    cosines: Tensor
    anchor: Tensor
    positive: Tensor
    temperature: float
    counts_anchor: bool

    def ranks(self, members: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the rank (k,) of each pair among all, and among those marked 1 in the anchor's row of `members`."""
        among_all, among_members = [], []
        for block, above in self._blocks():
            among_all.append(above.sum(1))
            if members is not None:
                among_members.append(above.mul_(members.index_select(0, self.anchor[block])).sum(1))
        ranks = torch.cat(among_all).add_(1)
        return ranks, torch.cat(among_members).add_(1) if among_members else ranks

    def slopes(self, by_rank: Tensor, by_member_rank: Tensor | None, members: Tensor | None) -> Tensor:
        """Return the derivatives (n, n) by the cosines of a loss with these derivatives (k,) by the ranks."""
        slopes = torch.zeros_like(self.cosines)
        place = self.anchor * len(self.cosines) + self.positive
        for block, above in self._blocks():
            anchor = self.anchor[block]
            rate = by_rank[block].unsqueeze(1)
            if by_member_rank is not None and members is not None:
                rate = torch.addcmul(rate, by_member_rank[block].unsqueeze(1), members.index_select(0, anchor))
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
            above.scatter_(1, positive, 0)
            if not self.counts_anchor:
                above.scatter_(1, anchor, 0)
            yield block, above
