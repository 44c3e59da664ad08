"""Logarithms of sums of exponentials; nothing overflows, nothing is NaN."""

from torch import Tensor
from torch.nn import functional


def log_one_plus_sum_exp(values: Tensor, dim: int) -> Tensor:
    """Return log(1 + sum exp) of a matrix along an axis; minus infinity adds nothing, and nothing at all gives 0."""
    one = functional.pad(values, (1, 0) if dim == 1 else (0, 0, 1, 0))
    return one.logsumexp(dim)


def softplus(values: Tensor) -> Tensor:
    """Return log(1 + exp(values)) to the last digit: torch switches to the identity above 20 unless told to wait."""
    return functional.softplus(values, threshold=80)
