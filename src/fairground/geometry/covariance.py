"""Factors of covariances, taken only as far as symmetry demands."""

import torch
from torch import Tensor

#: columns of a block, where only half of a symmetric matrix is wanted
_BLOCK = 128


def scatter_factor(centred: Tensor) -> Tensor:
    """Return the lower triangular L (d, d) with LL' = centred' centred, for `centred` (n, d).

    Rounding, or fewer points than dimensions, leave the right side a little short of positive definite: its diagonal is
    lifted by as little as will do, a few roundings of its mean.
    """
    scatter = _lower_scatter(centred)
    precision = torch.finfo(centred.dtype)
    scale = scatter.diagonal().mean().clamp_min(precision.tiny)
    lift = 4 * precision.eps
    while True:
        lifted = scatter.clone()
        lifted.diagonal().add_(scale * lift)
        factor: Tensor
        factor, failed = torch.linalg.cholesky_ex(lifted)
        if not failed:
            return factor
        lift *= 4


def times_lower(left: Tensor, lower: Tensor) -> Tensor:
    """Return left @ lower for a lower triangular matrix, leaving out most of the zeros."""
    result = torch.empty_like(left)
    for start in range(0, lower.shape[1], _BLOCK):
        columns = slice(start, start + _BLOCK)
        torch.mm(left[:, start:], lower[start:, columns], out=result[:, columns])
    return result


def _lower_scatter(centred: Tensor) -> Tensor:
    d = centred.shape[1]
    scatter = centred.new_zeros(d, d)
    for start in range(0, d, _BLOCK):
        columns = slice(start, start + _BLOCK)
        torch.mm(centred[:, start:].T, centred[:, columns], out=scatter[start:, columns])
    return scatter
