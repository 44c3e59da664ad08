"""Losses of the cosines between embeddings and class vectors; equals a loss of `functional.prototypes.cosines`.

A *rule* takes the matrix of cosines (n, m), its own to overwrite, and returns the loss and the derivative of the loss
by every cosine; where the loss depends on the embeddings' lengths too, also its derivative by every length (n, 1).
From these both gradients are one matrix product away.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.normalize import normalize_rows, tangent_projection

#: cosines (n, m) to the loss, its derivatives (n, m), and perhaps those (n, 1) by length
Rule = Callable[[Tensor], tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Tensor]]


def kernel_of_cosines(embeddings: Tensor, vectors: Tensor, rule: Rule) -> KernelResult:
    """Return the rule's loss of the cosines with class vectors (m, d), and its gradients; 0 for an empty batch."""
    vectors = vectors.detach().to(embeddings.dtype)
    if not len(embeddings):
        return KernelResult(embeddings.new_zeros(()), torch.zeros_like(embeddings), (torch.zeros_like(vectors),))
    (left, shrink_left), (right, shrink_right) = normalize_rows(embeddings), normalize_rows(vectors)
    value, slopes, *by_length = rule(left @ right.T)
    by_embeddings = tangent_projection(slopes @ right, left, shrink_left)
    for slope in by_length:
        by_embeddings.addcmul_(left, slope)
    by_vectors = tangent_projection(slopes.T @ left, right, shrink_right)
    return KernelResult(value, by_embeddings, (by_vectors,))


def kernel_of_centre_cosines(embeddings: Tensor, centres: Tensor, rule: Rule) -> KernelResult:
    """Return the same for centres (C, K, d); the rule's cosines are (n, K, C), and so are its derivatives.

    In that order a softmax or maximum over K is several times faster than over a short last axis.
    """
    n_classes, n_centres, _ = centres.shape

    def flat(cosine: Tensor) -> tuple[Tensor, Tensor]:
        value, slopes, *_ = rule(cosine.view(-1, n_centres, n_classes))
        return value, slopes.flatten(1)

    result = kernel_of_cosines(embeddings, centres.detach().transpose(0, 1).flatten(0, 1), flat)
    by_centre = result.parameter_gradients[0].view(n_centres, n_classes, -1).transpose(0, 1)
    return result._replace(parameter_gradients=(by_centre,))


def cross_entropy_(logits: Tensor, own: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Return the mean of -log softmax(scale * logits) at the own class (n, 1), and its derivatives, in place."""
    log_shares = logits.mul_(scale).log_softmax(1)
    value = log_shares.gather(1, own).mean().neg_()
    slopes = log_shares.exp_().scatter_add_(1, own, torch.full_like(own, -1, dtype=logits.dtype))
    return value, slopes.mul_(scale / len(own))
