"""N-pair loss and its gradient; equals `NPairLoss.formula` without the price of the norm."""

from math import inf

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs, one_random_positive
from fairground.kernels.gradients import kernel_of_products, kernel_of_vectors
from fairground.kernels.tuplets import tuplets_


def value_and_gradient(
    embeddings: Tensor,
    labels: Tensor,
    tuples: Tuples | None,
    *,
    normalise: bool,
    one_random: bool,
    generator: torch.Generator | None,
) -> KernelResult | None:
    """Return the mean over positive pairs, and its gradient; None without a positive or without a negative."""
    pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
    if not pairs.are_complete:
        return None
    return of_pairs(embeddings, one_random_positive(pairs, generator) if one_random else pairs, normalise=normalise)


def of_pairs(embeddings: Tensor, pairs: BatchPairs, *, normalise: bool) -> KernelResult:
    """Return the mean over these pairs of products, or cosines, and its gradient."""

    def of_products(products: Tensor) -> tuple[Tensor, Tensor]:
        tuplets = tuplets_(products, products.take(pairs.place), pairs, within=1 if normalise else inf)
        pull = tuplets.pull / len(tuplets.pull)
        return tuplets.terms.mean(), tuplets.gradient_(pull, pull)

    return kernel_of_products(embeddings, of_products, normalise=normalise)


def of_one_per_class(embeddings: Tensor, anchor: Tensor, positive: Tensor, *, normalise: bool) -> KernelResult | None:
    """Return the mean cross-entropy of finding each anchor its own positive among all, and its gradient, or None."""
    if len(anchor) == 0:
        return None

    def of_vectors(x: Tensor) -> tuple[Tensor, Tensor]:
        anchors, positives = x.index_select(0, anchor), x.index_select(0, positive)
        logarithms = (anchors @ positives.T).log_softmax(1)
        by_logit = logarithms.exp().div_(len(anchor))
        by_logit.diagonal().sub_(1 / len(anchor))
        gradient = torch.zeros_like(x).index_add_(0, anchor, by_logit @ positives)
        return -logarithms.diagonal().mean(), gradient.index_add_(0, positive, by_logit.T @ anchors)

    return kernel_of_vectors(embeddings, of_vectors, normalise=normalise)
