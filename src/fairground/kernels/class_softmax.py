"""Softmax over the cosines with class vectors; equals `functional.prototypes.mean_cross_entropy` of scaled cosines."""

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.cosines import cross_entropy_, kernel_of_cosines


def value_and_gradient(
    embeddings: Tensor, vectors: Tensor, labels: Tensor, *, scale: float, margin: float = 0.0
) -> KernelResult:
    """Return the mean cross-entropy of scale * (cosine - margin [own class])."""
    own = labels.unsqueeze(1)

    def rule(cosine: Tensor) -> tuple[Tensor, Tensor]:
        if margin:
            cosine.scatter_add_(1, own, cosine.new_full(own.shape, -margin))
        return cross_entropy_(cosine, own, scale)

    return kernel_of_cosines(embeddings, vectors, rule)


def value_and_gradient_of_others(embeddings: Tensor, vectors: Tensor, labels: Tensor, *, scale: float) -> KernelResult:
    """Return the mean of log sum_{c != own} exp(scale * cosine_c) - scale * cosine_own."""
    own = labels.unsqueeze(1)

    def rule(cosine: Tensor) -> tuple[Tensor, Tensor]:
        target = cosine.mul_(scale).gather(1, own)
        cosine.scatter_(1, own, -torch.inf)
        log_sums = cosine.logsumexp(1, keepdim=True)
        slopes = cosine.sub_(log_sums).exp_().scatter_(1, own, -1.0)
        return (log_sums - target).mean(), slopes.mul_(scale / len(own))

    return kernel_of_cosines(embeddings, vectors, rule)
