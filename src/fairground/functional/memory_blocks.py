"""Comparisons of a batch that may be too large to hold: all rows at once, or in blocks, recomputed for the gradient."""

from collections.abc import Callable

from torch import Tensor, stack
from torch.utils.checkpoint import checkpoint

from fairground.contracts import is_transformed

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
    return _over_blocks(block_sum, n, max(1, BLOCK // max(1, per_row))).sum(0)


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
    recomputes = not is_transformed()
    results = (checkpoint(block, rows, use_reentrant=False) if recomputes else block(rows) for rows in blocks)
    return stack(list(results))
