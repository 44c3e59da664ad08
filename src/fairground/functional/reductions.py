"""Means, log-sums, histograms and ranks over the pairs of a batch, and sums over blocks of rows.

Blocks are recomputed for the gradient, so that memory stays that of one block.

A value at position x, in units of the bin width, is in bin r = floor(x); with f = x - r it gives 1 - f to node r and
f to node r + 1. That is the triangular weight max(0, 1 - |x - node|), without a table of values against nodes.

The soft rank of p for anchor a is 1 + sum_j sigmoid((s_aj - s_ap) / temperature): how many stand above p, each counted
softly.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from fairground.contracts.loss import is_eager
from fairground.functional.pairs import PairWeights, norms

#: how many numbers a block may hold: a few tens of megabytes
BLOCK = 2**22
#: a matrix of comparisons up to this size (256 MB in float32) is held; a larger one is worked through in blocks
LARGEST_MATRIX = 2**26
#: comparisons in such a block: long enough that products, not their sums, take the time
COMPARISONS = 2**23


def is_held(n_rows: int, n_columns: int) -> bool:
    """Tell whether the matrix of all comparisons of rows and columns is small enough to be held."""
    return n_rows * n_columns <= LARGEST_MATRIX


def sum_over_blocks(block_sum: Callable[[slice], Tensor], n: int, per_row: int) -> Tensor:
    """Return the sum of `block_sum(rows)` over slices of 0..n-1, each as long as BLOCK numbers at `per_row` a row."""
    step = max(1, BLOCK // max(1, per_row))
    return _over_blocks(block_sum, n, step).sum(0)


def sum_over_rows(block_sum: Callable[[slice], Tensor], n_rows: int, n_columns: int, *, share: int = 1) -> Tensor:
    """Return the sum of `block_sum(rows)`: of all rows at once where their comparisons may be held, else in blocks.

    A block that needs memory for `share` times its comparisons is that much shorter.
    """
    return over_rows(block_sum, n_rows, n_columns, share=share).sum(0)


def over_rows(block: Callable[[slice], Tensor], n_rows: int, n_columns: int, *, share: int = 1) -> Tensor:
    """Return what `block(rows)` returns, stacked: of all rows at once where they may be held, else for each block."""
    if is_held(n_rows, n_columns):
        return block(slice(0, n_rows)).unsqueeze(0)
    return _over_blocks(block, n_rows, max(1, COMPARISONS // (share * max(1, n_columns))))


def rows_of(matrix: Tensor, rows: slice) -> Tensor:
    """Return some rows; the matrix itself for all of them, so that its products with itself are known as such."""
    return matrix if rows.start == 0 and rows.stop >= len(matrix) else matrix[rows]


def _over_blocks(block: Callable[[slice], Tensor], n: int, step: int) -> Tensor:
    blocks = [slice(first, min(first + step, n)) for first in range(0, max(n, 1), step)]
    if len(blocks) == 1:
        return block(blocks[0]).unsqueeze(0)
    # Transforms of torch.func know no recomputing: there, every block is kept for the gradient.
    recomputes = not torch._C._are_functorch_transforms_active()
    results = (checkpoint(block, rows, use_reentrant=False) if recomputes else block(rows) for rows in blocks)
    return torch.stack(list(results))


def log_one_plus_sum_exp(values: Tensor, dim: int) -> Tensor:
    """Return log(1 + sum exp) of a matrix along an axis; minus infinity adds nothing, and nothing at all gives 0."""
    one = functional.pad(values, (1, 0) if dim == 1 else (0, 0, 1, 0))
    return one.logsumexp(dim)


def softplus(values: Tensor) -> Tensor:
    """Return log(1 + exp(values)) exactly: torch switches to the identity above 20 by default."""
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


def zero_of(embeddings: Tensor) -> Tensor:
    """Return 0 with a zero gradient for every embedding: what a loss says when there is nothing to learn from."""
    # Squared, so that the gradient has a gradient too.
    return (embeddings * 0).square().sum()


def zero_unless(condition: Tensor, loss: Tensor) -> Tensor:
    """Return the loss, or 0 with a zero gradient where the condition () does not hold; the loss must be finite."""
    return torch.where(condition, loss, 0)


def mean_where(mask: Tensor, values: Tensor) -> Tensor:
    """Return the mean of the marked values; 0 when none is marked."""
    return torch.where(mask, values, 0).sum() / mask.sum().clamp_min(1)


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
    return torch.stack([(weights * terms).sum(), counted.sum()])


def nonzero_parts(terms: Tensor) -> Tensor:
    """Return the sum of terms and the number above zero, as (2,)."""
    return torch.stack([terms.sum(), (terms > 0).sum().to(terms.dtype)])


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


#: entries of the comparisons of all with all that are looked at together: 64 megabytes of float32
RANK_BLOCK = 2**24


class SoftBins(NamedTuple):
    """What the values of each bin (..., n_bins) give to its `lower` and to its `upper` node."""

    lower: Tensor
    upper: Tensor

    def histogram(self) -> Tensor:
        """Return the weight at every node (..., n_bins + 1)."""
        return functional.pad(self.lower, (0, 1)) + functional.pad(self.upper, (1, 0))


def soft_bins(positions: Tensor, weights: Tensor, n_bins: int) -> SoftBins:
    """Return the shares of positions (..., m), which lie in [0, n_bins] and count as their weights (..., m) say."""
    # The last node belongs to the last bin. What is not a number goes to bin 0, as a fraction that is none: the sums
    # then say so, where a bin out of range would be an error.
    place = positions.detach().floor().nan_to_num(nan=0).clamp(0, n_bins - 1)
    fraction, slot = positions - place, place.long()
    empty = positions.new_zeros(*positions.shape[:-1], n_bins)
    return SoftBins(
        empty.scatter_add(-1, slot, weights * (1 - fraction)), empty.scatter_add(-1, slot, weights * fraction)
    )


def soft_ranks(similarities: Tensor, among: Tensor, temperature: float) -> Tensor:
    """Return 1 + sum_{j != p} among_aj sigmoid((s_aj - s_ap) / temperature) for all (a, p).

    `among` (m, n, n) holds m choices of whom to rank among, and the ranks are (m, n, n). Memory stays O(m n^2): more
    than one block of columns is compared again in the backward pass instead of being kept, but under `torch.func`,
    which has no way to do so.
    """
    n = len(similarities)
    step = max(1, RANK_BLOCK // max(1, n * n))
    is_kept = step >= n or not is_eager()
    blocks = []
    for first in range(0, max(1, n), step):
        inputs = (similarities, similarities[:, first : first + step], among, temperature)
        blocks.append(_n_above(*inputs) if is_kept else checkpoint(_n_above, *inputs, use_reentrant=False))
    # p itself stands in the sum as sigmoid(0), a half.
    return 1 + torch.cat(blocks, 2) - among / 2


def _n_above(similarities: Tensor, own: Tensor, among: Tensor, temperature: float) -> Tensor:
    """Return the sums (m, n, b) for the similarities (n, b) of b columns."""
    above = ((similarities.unsqueeze(1) - own.unsqueeze(2)) / temperature).sigmoid()
    return torch.einsum("apj,maj->map", above, among)
