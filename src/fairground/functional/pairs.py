"""Positive and negative pairs of a batch, as (n, n) matrices."""

from typing import NamedTuple

import torch
from torch import Tensor

from fairground.contracts.loss import Tuples, as_pairs
from fairground.functional.random_draws import marked_column


class PairWeights(NamedTuple):
    """How often each ordered pair (n, n) counts as `positive` and as `negative`, as masks or as numbers."""

    positive: Tensor
    negative: Tensor


def pair_masks(labels: Tensor, rows: slice | None = None) -> PairWeights:
    """Return the pairs of a batch, or of some of its rows (r, n) with it, by label; no row is its own positive.

    Where `labels` are marks (n, L) of several labels per row, rows that share one belong together.
    """
    anchors = labels if rows is None else labels[rows]
    own = own_places(labels, rows)
    if labels.ndim == 2:
        shared = anchors.float() @ labels.float().T > 0
        return PairWeights(shared & ~own, ~(shared | own))
    same = anchors.unsqueeze(1) == labels
    return PairWeights(same & ~own, ~same)


def own_places(labels: Tensor, rows: slice | None = None) -> Tensor:
    """Return where each row, or each of some rows, stands in the batch as a mask (r, n)."""
    column = torch.arange(len(labels), device=labels.device)
    return (column if rows is None else column[rows]).unsqueeze(1) == column


def pair_weights(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, repeats: bool = False, rows: slice | None = None
) -> PairWeights:
    """Return all pairs of a batch, or those a miner chose; a pair chosen twice counts twice only with `repeats`.

    With `rows`, return only those anchors' pairs, which takes their memory where no miner chose.
    """
    n = len(labels)
    if tuples is not None and rows is not None:
        return PairWeights(*(chosen[rows] for chosen in pair_weights(embeddings, labels, tuples, repeats=repeats)))
    if tuples is None:
        positive, negative = pair_masks(labels, rows)
        return PairWeights(positive.to(embeddings.dtype), negative.to(embeddings.dtype))
    chosen = as_pairs(tuples)
    positive = _count(chosen.positive_anchor * n + chosen.positive, n, embeddings.dtype)
    negative = _count(chosen.negative_anchor * n + chosen.negative, n, embeddings.dtype)
    return PairWeights(positive, negative) if repeats else PairWeights(positive.clamp_max(1), negative.clamp_max(1))


def one_random_positive(pairs: PairWeights, generator: torch.Generator | None) -> PairWeights:
    """Return the pairs with one positive left to each anchor that has any, all equally likely."""
    column = marked_column(pairs.positive.long(), generator).unsqueeze(1)
    exists = pairs.positive.any(1, keepdim=True).to(pairs.positive.dtype)
    return pairs._replace(positive=torch.zeros_like(pairs.positive).scatter(1, column, exists))


def class_groups(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return each row's class as 0..k-1 in sorted order of label, and the k class sizes."""
    _, group, sizes = torch.unique(labels, return_inverse=True, return_counts=True)
    return group, sizes


def _count(place: Tensor, n: int, dtype: torch.dtype) -> Tensor:
    """Return how often each place of the flattened matrix is listed, as (n, n)."""
    ones = torch.ones(place.shape, dtype=dtype, device=place.device)
    return torch.zeros(n * n, dtype=dtype, device=place.device).index_add(0, place, ones).view(n, n)
