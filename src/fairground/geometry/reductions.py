"""From many terms to one number, always attached to the graph."""

import torch
from torch import Tensor


def zero_of(embeddings: Tensor) -> Tensor:
    """Return 0 with a zero gradient for every embedding: what a loss says when there is nothing to learn from."""
    return embeddings.sum() * 0


def masked_logsumexp(values: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Return log sum exp over the marked entries; minus infinity, with zero gradient, where none is marked."""
    return torch.where(mask, values, -torch.inf).logsumexp(dim)


def mean_nonzero(terms: Tensor) -> Tensor:
    """Return the sum over the number of terms above zero (`mean_nz`); 0 when there is none."""
    return terms.sum() / (terms > 0).sum().clamp_min(1)


def mean_hinges(excess: Tensor, reduction: str) -> Tensor:
    """Return the mean of [excess]_+ over all entries (`mean_all`) or over those above 0 (`mean_nz`); 0 for none."""
    hinges = excess.relu()
    return mean_nonzero(hinges) if reduction == "mean_nz" else hinges.sum() / max(1, hinges.numel())
