"""Histograms of the pairwise distances of a set of points and of parts of it, on the same bins."""

from typing import NamedTuple

import torch
from torch import Tensor

#: rows of a block, where only the upper half of a symmetric matrix is wanted
_BLOCK = 128


class DistanceHistograms(NamedTuple):
    """`whole` (n_bins,) and `parts` (m, n_bins) in float64, each with sum 1, and the `width` of a bin.

    A part without any distance inside the range of the whole has nothing but zeros.
    """

    whole: Tensor
    parts: Tensor
    width: float


def distance_histograms(points: Tensor, subsets: Tensor, n_bins: int) -> DistanceHistograms:
    """Return the histograms of the distances among `points` (n, d), and among each subset (m, b) of them.

    The bins, at most 255, divide the range from the smallest to the largest distance among the points. A point that a
    subset holds twice has no distance to itself: that pair is left out.
    """
    n = len(points)
    strips = _upper_distances(points)
    low = min(float(strip.min()) for strip in strips)
    high = max(float(strip.max()) for strip in strips)
    scale = n_bins / (high - low) if high > low else 0.0
    # Below the diagonal, and on it, every pair lies in a last bin that is dropped: so each pair counts once.
    bins = torch.full((n, n), n_bins, dtype=torch.uint8, device=points.device)
    whole = torch.zeros(n_bins + 1, dtype=torch.long, device=points.device)
    for start, strip in zip(range(0, n, _BLOCK), strips, strict=True):
        binned = strip.sub_(low).mul_(scale).clamp_(max=n_bins - 1).to(torch.uint8)
        binned[:, : len(binned)].masked_fill_(_lower(len(binned), points.device), n_bins)
        bins[start : start + _BLOCK, start:] = binned
        whole += torch.bincount(binned.flatten(), minlength=n_bins + 1)

    pairs = subsets.unsqueeze(2) * n + subsets.unsqueeze(1)
    offsets = (n_bins + 1) * torch.arange(len(subsets), device=points.device)
    found = bins.flatten()[pairs] + offsets.view(-1, 1, 1)
    parts = torch.bincount(found.flatten(), minlength=(n_bins + 1) * len(subsets)).view(len(subsets), -1)
    return DistanceHistograms(_shares(whole), _shares(parts), (high - low) / n_bins)


def wasserstein(left: Tensor, right: Tensor, width: float) -> Tensor:
    """Return the first Wasserstein distance between histograms on the same bins of `width`."""
    return (left.cumsum(-1) - right.cumsum(-1)).abs().sum(-1) * width


def _upper_distances(points: Tensor) -> list[Tensor]:
    """Return, for blocks of rows, their distances to the points from the block's first on.

    Pairs on or below the diagonal are given some distance that occurs above it.
    """
    squares = points.square().sum(1)
    some = None
    strips = []
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK]
        sums = squares[start : start + _BLOCK].unsqueeze(1) + squares[start:]
        strip = torch.addmm(sums, block, points[start:].T, alpha=-2).clamp_min_(0).sqrt_()
        some = strip[0, -1].clone() if some is None else some
        strip[:, : len(block)].masked_fill_(_lower(len(block), points.device), some)
        strips.append(strip)
    return strips


def _lower(n: int, device: torch.device) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool, device=device).tril_()


def _shares(counts: Tensor) -> Tensor:
    counts = counts[..., :-1].double()
    return counts / counts.sum(-1, keepdim=True).clamp_min(1)
