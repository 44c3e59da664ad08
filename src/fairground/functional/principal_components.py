"""The principal axes of feature vectors that come a block at a time, standardised per dimension or not."""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import torch


class PrincipalAxes(NamedTuple):
    """`axes` (d, d) are unit rows, that of the largest variance first; the features less `mean`, over `deviation`.

    `spread` (d,) is the deviation along each axis.
    """

    mean: torch.Tensor
    deviation: torch.Tensor
    axes: torch.Tensor
    spread: torch.Tensor
    n: int

    def projection(self, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return weight (dim, d) and bias (dim,) such that weight @ feature + bias is the point on the first axes."""
        weight = self.axes[:dim] / self.deviation
        return weight, -(weight @ self.mean)


def principal_axes(blocks: Iterable[torch.Tensor], *, standardise: bool) -> PrincipalAxes:
    """Return the principal axes of all rows of all blocks (n, d), in float64 and in the memory of one block and d x d.

    A dimension that never changes is left at a deviation of 1, for it has nothing to say on any axis.
    """
    rest = iter(blocks)
    # Not every accelerator knows float64.
    first = next(rest).cpu().double()
    # Sums of squares about a point far from the mean would lose the digits that matter.
    shift = first.mean(0)
    n, total, products = 0, torch.zeros_like(shift), torch.zeros(len(shift), len(shift)).to(shift)
    for block in chain([first], rest):
        rows = block.cpu().double() - shift
        n += len(rows)
        total += rows.sum(0)
        products.addmm_(rows.T, rows)
    offset = total / n
    covariance = products / n - torch.outer(offset, offset)
    variance = covariance.diagonal().clamp(min=0)
    # What rounding leaves of a constant must not be blown up to a deviation of 1.
    is_constant = variance <= 1e-14 * (products.diagonal() / n + shift**2)
    one = torch.ones_like(variance)
    deviation = torch.where(is_constant, one, variance.sqrt()) if standardise else one
    scaled = covariance / torch.outer(deviation, deviation)
    # LAPACK gives the smallest first.
    variances, vectors = torch.linalg.eigh(scaled)
    axes, spread = same_way(vectors.T.flip(0)), variances.flip(0).clamp(min=0).sqrt()
    return PrincipalAxes(mean=shift + offset, deviation=deviation, axes=axes, spread=spread, n=n)


def principal_axes_of_few(features: torch.Tensor) -> PrincipalAxes:
    """Return the first n principal axes of n features (n, d) with n < d, at a cost of n^2 d instead of d^3."""
    rows = features.cpu().double()
    mean = rows.mean(0)
    _, values, axes = torch.linalg.svd(rows - mean, full_matrices=False)
    spread, n = values / len(rows) ** 0.5, len(rows)
    return PrincipalAxes(mean=mean, deviation=torch.ones_like(mean), axes=same_way(axes), spread=spread, n=n)


def same_way(axes: torch.Tensor) -> torch.Tensor:
    """Return the axes, which have no direction, with their largest entry positive, so that all machines agree."""
    return axes * axes.gather(1, axes.abs().argmax(1, keepdim=True)).sign()
