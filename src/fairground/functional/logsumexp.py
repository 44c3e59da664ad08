"""Logarithms of sums of exponentials; nothing overflows, nothing is NaN."""

import torch
from torch import Tensor
from torch.nn import functional


def log_one_plus_sum_exp(values: Tensor, dim: int) -> Tensor:
    """Return log(1 + sum exp) of a matrix along an axis; minus infinity adds nothing, and nothing at all gives 0."""
    one = functional.pad(values, (1, 0) if dim == 1 else (0, 0, 1, 0))
    return one.logsumexp(dim)


def softplus(values: Tensor) -> Tensor:
    """Return log(1 + exp(values)) to the last digit: torch switches to the identity above 20 unless told to wait."""
    return functional.softplus(values, threshold=80)


#: stands for the logarithm of 0: minus infinity itself has no second derivative
NOTHING = -1e30


def weighted_logsumexp(values: Tensor, weights: Tensor) -> Tensor:
    """Return log sum_j weights_ij exp(values_ij) over the last axis, for weights that are 0, 1, 2 and so on.

    It is about NOTHING, with gradient 0, where no weight is.
    """
    return torch.where(weights > 0, values + weights.clamp_min(1).log(), NOTHING).logsumexp(-1)


def masked_softmax(values: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax of every row over its marked entries; 0 elsewhere, also where a row has none."""
    return torch.where(mask, torch.where(mask, values, NOTHING).softmax(-1), 0)
