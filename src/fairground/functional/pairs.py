"""Rows of a batch two by two: distances, random choices of columns, positive and negative pairs as (n, n) matrices.

Derivatives are finite everywhere, even between identical embeddings. Random numbers are drawn where the generator
lives and then moved, so that a seed gives the same choices on every device. A generator of None means torch's default
one, as it does everywhere in torch.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairground.contracts.loss import Tuples, as_pairs

#: shorter rows have no direction: they are taken as 0, and so is their gradient
SHORTEST = 1e-12


def normalize(vectors: Tensor) -> Tensor:
    """Return rows (..., d) scaled to length one; a row shorter than 1e-12 becomes zero, with gradient 0."""
    rows, _, is_short = _in_range(vectors)
    return rows * (rows.square().sum(-1, keepdim=True).rsqrt() * ~is_short)


def norms(vectors: Tensor) -> Tensor:
    """Return the lengths (..., 1) of rows (..., d); a length below 1e-12 becomes zero, with gradient 0."""
    rows, scale, is_short = _in_range(vectors)
    return rows.square().sum(-1, keepdim=True).sqrt() * (~is_short / scale)


def squared_distances(left: Tensor, right: Tensor) -> Tensor:
    """Return ||left_i - right_j||^2 as (n, m), never negative; exactly 0 for a row of a batch with itself."""
    if left is not right:
        lengths = left.square().sum(1, keepdim=True) + right.square().sum(1)
        return torch.addmm(lengths, left, right.T, alpha=-2).clamp_min(0)
    products = left @ left.T
    # On the diagonal, so that identical rows are at a distance of 0 and not of what two orders of summing leave.
    lengths = products.diagonal()
    squares = lengths.unsqueeze(1) + lengths - 2 * products
    is_itself = torch.eye(len(left), dtype=torch.bool, device=left.device)
    return squares.clamp_min(0).masked_fill(is_itself, 0)


def distances(left: Tensor, right: Tensor) -> Tensor:
    """Return ||left_i - right_j|| as (n, m), with gradient 0 where it is 0."""
    return safe_sqrt(squared_distances(left, right))


def distances_of_pairs(points: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Return ||points_l - points_r|| as (t,) for index vectors (t,), in memory O(n^2 + t)."""
    # Gathering rows takes t * d numbers, the matrix n * n: whichever is less.
    if left.numel() * points.shape[1] <= len(points) ** 2:
        return safe_sqrt((points[left] - points[right]).square().sum(1))
    return distances(points, points)[left, right]


def safe_sqrt(squares: Tensor) -> Tensor:
    """Return the square root, with slope 0 instead of infinity at 0."""
    is_zero = squares <= 0
    return torch.where(is_zero, 1, squares).sqrt() * ~is_zero


def _in_range(vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return rows whose squares can be summed, by what they were multiplied (..., 1), and which are too short.

    The squares of float32 numbers above 2e19 are infinite: rows that long are made shorter. A length of 0 has no
    derivative: short rows become ones, which keeps finite what the caller then leaves out.
    """
    lengths = torch.linalg.vector_norm(vectors.detach(), dim=-1, keepdim=True)
    is_short = lengths < SHORTEST
    scale = torch.ones_like(lengths).masked_fill(lengths.isinf(), torch.finfo(vectors.dtype).max ** -0.625)
    return vectors * scale + is_short, scale, is_short


def draw_below(limits: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return, for every limit, a whole number in 0..limit-1, all equally likely; 0 for a limit of 0."""
    # Drawn where the generator lives, so that a seed gives the same numbers on every device.
    home = limits.device if generator is None else generator.device
    # 53 random bits: the bias for a class of a million images is below 1e-9.
    uniform = torch.rand(limits.shape, generator=generator, device=home, dtype=torch.float64)
    return (uniform.to(limits.device) * limits).long()


def fractions(n: int, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return `n` numbers in [0, 1) on the device of `like`."""
    home = like.device if generator is None else generator.device
    return torch.rand(n, generator=generator, device=home).to(like.device)


def marked_column(mask: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return for each row of `mask` (r, n) one of its marked columns, all equally likely; any column where none is.

    A mask of whole numbers counts a column as often as it says.
    """
    wanted = draw_below(mask.sum(1), generator) + 1
    return torch.searchsorted(mask.cumsum(1), wanted.unsqueeze(1)).squeeze(1).clamp_max(mask.shape[1] - 1)


def weighted_columns(weights: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """Return `count` columns (r, count) for each row of `weights` (r, n), with chances as its weights, with repeats.

    Every row needs a weight above zero; columns of weight zero are never drawn.
    """
    cumulative = weights.cumsum(1)
    total = cumulative[:, -1:]
    drawn = fractions(len(weights) * count, weights, generator).view(len(weights), count) * total
    # Rounding may lift a draw up to the total itself, and no column reaches beyond that.
    below = torch.minimum(drawn, torch.nextafter(total, torch.zeros_like(total)))
    column = torch.searchsorted(cumulative, below, right=True).clamp_max(weights.shape[1] - 1)
    # Parallel sums need not rise from column to column, so the search may stop at a weight of zero.
    return torch.where(weights.gather(1, column) > 0, column, weights.argmax(1, keepdim=True))


def distinct_below(totals: Tensor, cap: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Return rows and ranks: for each row min(cap, total) different numbers in 0..total-1, every subset equally likely.

    Memory is that of the answer, however large the totals. The pairs come sorted by row, then rank.
    """
    wanted = totals.clamp_max(cap)
    spared = totals - wanted
    # Where more is kept than left out it is cheaper to draw what is left out, and repeats stay rare.
    is_complement = spared < wanted
    drawn = torch.where(is_complement, spared, wanted)
    width = int(totals.max()) if len(totals) else 0
    row_of = torch.arange(len(totals), device=totals.device)
    codes = row_of.new_empty(0)
    missing = drawn
    while bool(missing.any()):
        row = row_of.repeat_interleave(missing)
        drawn_now = row * width + draw_below(totals[row], generator)
        codes = torch.unique(torch.cat([codes, drawn_now]))
        missing = drawn - torch.bincount(codes // width, minlength=len(totals))
    if bool(is_complement.any()):
        # The codes of these rows are replaced by all others of the row.
        sizes = torch.where(is_complement, totals, 0)
        row = row_of.repeat_interleave(sizes)
        every = row * width + torch.arange(len(row), device=totals.device) - (sizes.cumsum(0) - sizes)[row]
        kept = every[~torch.isin(every, codes)]
        codes = torch.cat([codes[sizes[codes // width] == 0], kept]).sort().values
    return codes // max(width, 1), codes % max(width, 1)


def capped(group: Tensor, n_groups: int, cap: int, generator: torch.Generator | None) -> Tensor:
    """Return positions in the sorted `group` (t,) that keep at most `cap` of each group, all subsets equally likely."""
    sizes = torch.bincount(group, minlength=n_groups)
    row, rank = distinct_below(sizes, cap, generator)
    return (sizes.cumsum(0) - sizes)[row] + rank


class PairWeights(NamedTuple):
    """How often each ordered pair (n, n) counts as `positive` and as `negative`, as masks or as numbers."""

    positive: Tensor
    negative: Tensor


def pair_masks(labels: Tensor, rows: slice | None = None) -> PairWeights:
    """Return the pairs of a batch, or of some of its rows (r, n) with it, by label; no row is its own positive."""
    anchors = labels if rows is None else labels[rows]
    same = anchors.unsqueeze(1) == labels
    return PairWeights(same & ~own_places(labels, rows), ~same)


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
    if repeats:
        return PairWeights(positive, negative)
    return PairWeights(positive.clamp_max(1), negative.clamp_max(1))


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
