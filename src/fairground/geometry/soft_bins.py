"""Histograms a gradient can pass through: a value shares itself out between the two nodes on either side of it.

A value at position x, in units of the bin width, lies in bin r = floor(x); with f = x - r it gives 1 - f to node r and
f to node r + 1. That is the triangular weight max(0, 1 - |x - node|), without a table of values against nodes.
"""

from typing import NamedTuple

from torch import Tensor


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
