"""Histograms and ranks of similarities, with gradients.

A value at position x, in units of the bin width, is in bin r = floor(x); with f = x - r it gives 1 - f to node r and
f to node r + 1. That is the triangular weight max(0, 1 - |x - node|), without a table of values against nodes.

The soft rank of p for anchor a is 1 + sum_j sigmoid((s_aj - s_ap) / temperature): how many stand above p, each counted
softly.
"""

from typing import NamedTuple

import torch
from torch.utils.checkpoint import checkpoint

from fairground.contracts.kernel_or_formula import is_eager

#: entries of the comparisons of all with all that are looked at together: 64 megabytes of float32
RANK_BLOCK = 2**24


class SoftBins(NamedTuple):
    """What the values of each bin (..., n_bins) give to its `lower` and to its `upper` node."""

    lower: torch.Tensor
    upper: torch.Tensor

    def histogram(self) -> torch.Tensor:
        """Return the weight at every node (..., n_bins + 1)."""
        return torch.nn.functional.pad(self.lower, (0, 1)) + torch.nn.functional.pad(self.upper, (1, 0))


def soft_bins(positions: torch.Tensor, weights: torch.Tensor, n_bins: int) -> SoftBins:
    """Return the shares of positions (..., m), which lie in [0, n_bins] and count as their weights (..., m) say."""
    # The last node belongs to the last bin. What is not a number goes to bin 0, as a fraction that is none: the sums
    # then say so, where a bin out of range would be an error.
    place = positions.detach().floor().nan_to_num(nan=0).clamp(0, n_bins - 1)
    fraction, slot = positions - place, place.long()
    empty = positions.new_zeros(*positions.shape[:-1], n_bins)
    lower = empty.scatter_add(-1, slot, weights * (1 - fraction))
    return SoftBins(lower, empty.scatter_add(-1, slot, weights * fraction))


def running_sums(values: torch.Tensor) -> torch.Tensor:
    """Return the sums along the last axis up to each place; by a product where a device may not add in any order."""
    if values.is_cpu or not torch.are_deterministic_algorithms_enabled():
        return values.cumsum(-1)
    n = values.shape[-1]
    return (values.reshape(-1, n) @ values.new_ones(n, n).triu()).view_as(values)


def soft_ranks(similarities: torch.Tensor, among: torch.Tensor, temperature: float) -> torch.Tensor:
    """Return 1 + sum_{j != p} among_aj sigmoid((s_aj - s_ap) / temperature) for all (a, p).

    `among` (m, n, n) holds m choices of whom to rank among, and the ranks are (m, n, n). Memory stays O(m n^2): more
    than one block of columns is compared again in the backward pass instead of being kept, but under `torch.func`,
    which has no way to do so.
    """
    n = len(similarities)
    step = max(1, RANK_BLOCK // max(1, n * n))
    is_kept = step >= n or not is_eager()
    blocks = []
    for first in range(0, max(1, n), step):
        inputs = (similarities, similarities[:, first : first + step], among, temperature)
        blocks.append(_n_above(*inputs) if is_kept else checkpoint(_n_above, *inputs, use_reentrant=False))
    # p itself stands in the sum as sigmoid(0), a half.
    return 1 + torch.cat(blocks, 2) - among / 2


def _n_above(similarities: torch.Tensor, own: torch.Tensor, among: torch.Tensor, temperature: float) -> torch.Tensor:
    """Return the sums (m, n, b) for the similarities (n, b) of b columns."""
    above = ((similarities.unsqueeze(1) - own.unsqueeze(2)) / temperature).sigmoid()
    return torch.einsum("apj,maj->map", above, among)
