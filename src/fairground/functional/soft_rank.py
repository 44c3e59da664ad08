"""Histograms a gradient can pass through: a value shares itself out between the two nodes on either side of it.

A value at position x, in units of the bin width, lies in bin r = floor(x); with f = x - r it gives 1 - f to node r and
f to node r + 1. That is the triangular weight max(0, 1 - |x - node|), without a table of values against nodes.

Ranks a gradient can pass through: how many stand above a positive in its anchor's ranking, each counted softly.

The rank of positive p for anchor a is 1 + sum_j sigmoid((s_aj - s_ap) / temperature), over all j but p (and a itself).
A pair needs a whole row, so pairs are taken as many at a time as the batch has rows: memory stays O(n^2), and the rows
are worked out a second time for the slopes instead of being kept.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from fairground.functional.pairs import BatchPairs


class SoftBins(NamedTuple):
    """`slot`: 1 + the bin of each value; 0 for minus infinity, which is in none. `fraction`: f, for slots above 0."""

    slot: Tensor
    fraction: Tensor


def soft_bins_(positions: Tensor, n_bins: int) -> SoftBins:
    """Return the bin and the fraction of positions in [0, n_bins] or minus infinity, overwriting them."""
    # The last node belongs to the last bin, with fraction 1. What is not a number goes to bin 0, as a fraction that is
    # none: the sums then say so, where a bin out of range would be an error.
    lower = positions.floor().nan_to_num_(nan=0, neginf=-1).clamp_(-1, n_bins - 1)
    return SoftBins(lower.long().add_(1), positions.sub_(lower))


class SoftRanks(NamedTuple):
    """Pairs ranked by `cosines` (n, n) at a `temperature`; `counts_anchor` puts the anchor in its own ranking."""

    cosines: Tensor
    pairs: BatchPairs
    temperature: float
    counts_anchor: bool

    def ranks(self, members: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the rank (k,) of each pair among all, and among those marked 1 in the anchor's row of `members`."""
        among_all, among_members = [], []
        for block, above in self._blocks():
            among_all.append(above.sum(1))
            if members is not None:
                among_members.append(above.mul_(members.index_select(0, self.pairs.anchor[block])).sum(1))
        whole = torch.cat(among_all).add_(1)
        return whole, torch.cat(among_members).add_(1) if among_members else whole

    def slopes(self, by_rank: Tensor, by_member_rank: Tensor | None, members: Tensor | None) -> Tensor:
        """Return the slope (n, n) by the cosines of a loss with these slopes (k,) by the ranks."""
        slopes = torch.zeros_like(self.cosines)
        for block, above in self._blocks():
            anchor = self.pairs.anchor[block]
            rate = by_rank[block].unsqueeze(1)
            if by_member_rank is not None and members is not None:
                rate = torch.addcmul(rate, by_member_rank[block].unsqueeze(1), members.index_select(0, anchor))
            rates = (above - above.square()).mul_(rate).div_(self.temperature)
            slopes.index_add_(0, anchor, rates).put_(self.pairs.place[block], -rates.sum(1), accumulate=True)
        return slopes

    def _blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield slices of the pairs, and how far each row of the batch (m, n) stands above each pair's positive."""
        for first in range(0, len(self.pairs.anchor), self.pairs.n):
            block = slice(first, first + self.pairs.n)
            anchor = self.pairs.anchor[block]
            own = self.cosines.take(self.pairs.place[block]).unsqueeze(1)
            above = self.cosines.index_select(0, anchor).sub_(own).div_(self.temperature).sigmoid_()
            above.scatter_(1, self.pairs.positive[block].unsqueeze(1), 0)
            if not self.counts_anchor:
                above.scatter_(1, anchor.unsqueeze(1), 0)
            yield block, above
