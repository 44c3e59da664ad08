"""Means and logarithms of sums over the pairs of a batch."""

from typing import Literal

from torch import Tensor, nn, stack, where

from fairground.functional import PairWeights, norms


def log_one_plus_sum_exp(values: Tensor, dim: int) -> Tensor:
    """Return log(1 + sum exp) of a matrix along an axis; minus infinity adds nothing, and nothing at all gives 0."""
    one = nn.functional.pad(values, (1, 0) if dim == 1 else (0, 0, 1, 0))
    return one.logsumexp(dim)


def softplus(values: Tensor) -> Tensor:
    """Return log(1 + exp(values)) exactly: torch switches to the identity above 20 by default."""
    return nn.functional.softplus(values, threshold=80)


#: stands for the logarithm of 0: minus infinity itself has no second derivative
NOTHING = -1e30


def weighted_logsumexp(values: Tensor, weights: Tensor) -> Tensor:
    """Return log sum_j weights_ij exp(values_ij) over the last axis, for weights that are 0, 1, 2 and so on.

    It is about NOTHING, with gradient 0, where no weight is.
    """
    return where(weights > 0, values + weights.clamp_min(1).log(), NOTHING).logsumexp(-1)


def masked_softmax(values: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax of every row over its marked entries; 0 elsewhere, also where a row has none."""
    return where(mask, where(mask, values, NOTHING).softmax(-1), 0)


def zero_of(embeddings: Tensor) -> Tensor:
    """Return 0 with a zero gradient for every embedding: what a loss says when there is nothing to learn from."""
    # Squared, so that the gradient has a gradient too.
    return (embeddings * 0).square().sum()


def mean_where(mask: Tensor, values: Tensor) -> Tensor:
    """Return the mean of the marked values; 0 when none is marked."""
    return where(mask, values, 0).sum() / mask.sum().clamp_min(1)


def mean_hinges(excess: Tensor, reduction: str) -> Tensor:
    """Return the mean of [excess]_+ over all entries (`mean_all`) or over those above 0 (`mean_nz`); 0 for none."""
    hinges = excess.relu()
    return hinges.sum() / ((hinges > 0).sum().clamp_min(1) if reduction == "mean_nz" else max(1, hinges.numel()))


def weighted_mean(terms: Tensor, weights: Tensor, reduction: str = "mean_all") -> Tensor:
    """Return sum w t / sum w over all terms (`mean_all`) or over those above 0 (`mean_nz`); 0 for none."""
    return mean_of_parts(weighted_parts(terms, weights, reduction))


def weighted_parts(terms: Tensor, weights: Tensor, reduction: str = "mean_all") -> Tensor:
    """Return sum w t and the weight it is divided by, as (2,): parts of `weighted_mean` that add up over blocks."""
    counted = weights * (terms > 0) if reduction == "mean_nz" else weights
    return stack([(weights * terms).sum(), counted.sum()])


def nonzero_parts(terms: Tensor) -> Tensor:
    """Return the sum of terms and the number above zero, as (2,)."""
    return stack([terms.sum(), (terms > 0).sum().to(terms.dtype)])


def mean_of_parts(parts: Tensor) -> Tensor:
    """Return sum over count of parts (2,); 0 for none."""
    return parts[0] / parts[1].clamp_min(1)


def with_norm_penalty(loss: Tensor, embeddings: Tensor, weight: float, power: Literal[1, 2]) -> Tensor:
    """Return loss + weight * mean over the batch of ||x||, or of ||x||^2 for power 2."""
    if weight == 0 or len(embeddings) == 0:
        return loss
    if power == 2:
        return loss + weight * embeddings.square().sum(1).mean()
    return loss + weight * norms(embeddings).mean()


def tuplet_terms(pairs: PairWeights, negative: Tensor, positive: Tensor) -> Tensor:
    """Return the terms (n, n) of all pairs (a, p) for u = `negative` (n, n) and v = `positive` (n, n).

    A term is 0 where the anchor has no negative. Terms of pairs without weight mean nothing.
    """
    return softplus(weighted_logsumexp(negative, pairs.negative).unsqueeze(1) - positive)
