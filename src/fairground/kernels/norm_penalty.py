"""The price on the length of embeddings, added to a kernel's result; equals `reductions.with_norm_penalty`."""

from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.normalize import normalize_rows


def add_norm_penalty(result: KernelResult | None, embeddings: Tensor, weight: float, power: int) -> KernelResult | None:
    """Return the result with weight * mean over the batch of ||x||, or of ||x||^2 for power 2, and its gradient."""
    if result is None or weight == 0:
        return result
    step = weight / len(embeddings)
    if power == 2:
        value = result.value + step * embeddings.square().sum()
        return KernelResult(value, result.gradient.add(embeddings, alpha=2 * step))
    units, _ = normalize_rows(embeddings)
    value = result.value + step * (units * embeddings).sum()
    return KernelResult(value, result.gradient.add(units, alpha=step))
