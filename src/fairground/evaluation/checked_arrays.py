"""Arrays and tensors that users pass, checked and converted to one form."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from fairground.errors import DataError, require

Embeddings = np.ndarray | torch.Tensor
#: one label per row, or a set of labels per row, or a 0/1 matrix with a column per label
Labels = Any


class Coded(NamedTuple):
    """Labels of queries and references as numbers of one list of classes."""

    queries: np.ndarray
    references: np.ndarray
    names: np.ndarray


def as_matrix(embeddings: Any, what: str = "embeddings") -> np.ndarray:
    """Return finite embeddings (n, d) in main memory or, for a memory-mapped file, where they are."""
    matrix = embeddings
    if isinstance(matrix, torch.Tensor):
        matrix = matrix.detach().cpu()
        matrix = (matrix.float() if matrix.dtype in (torch.bfloat16, torch.float16) else matrix).numpy()
    elif not isinstance(matrix, np.ndarray):
        matrix = np.asarray(matrix)
    shape = matrix.shape
    require(matrix.ndim == 2, f"{what} must be a matrix (n, d); got shape {shape}", DataError)
    require(shape[0] > 0, f"{what} are empty: there is no row to evaluate", DataError)
    require(shape[1] > 0, f"{what} have no dimensions: got shape {shape}", DataError)
    require(matrix.dtype.kind in "fiub", f"{what} must be real numbers; got {matrix.dtype}", DataError)
    # Above this a squared length would overflow, in wide types; NaN compares as false.
    limit, step = 1e150 if matrix.dtype.itemsize > 4 else np.inf, max(1, 2**22 // shape[1])
    usable = [(np.abs(matrix[start : start + step]) < limit).all(1) for start in range(0, len(matrix), step)]
    bad = np.flatnonzero(~np.concatenate(usable))
    listed = ", ".join(str(row) for row in bad[:5]) + (", ..." if len(bad) > 5 else "")
    sentence = f"{len(bad)} of {len(matrix)} {what} are not finite (NaN, infinite or beyond 1e150): rows {listed}"
    require(len(bad) == 0, sentence, DataError)
    return np.asanyarray(matrix)


def working_dtype(*matrices: np.ndarray, exact: bool) -> np.dtype:
    """Return float64 where any input is wider than float32, or where `exact` asks for it, else float32.

    Differences of Euclidean distances between raw vectors are small against the vectors' squared lengths; float32
    would round them away.
    """
    is_narrow = all(matrix.dtype in (np.float16, np.float32) for matrix in matrices)
    return np.dtype(np.float32 if is_narrow and not exact else np.float64)


def is_multi_label(labels: Labels) -> bool:
    if isinstance(labels, np.ndarray | torch.Tensor):
        return labels.ndim == 2
    return isinstance(labels, Sequence) and len(labels) > 0 and isinstance(labels[0], set | frozenset | list | tuple)


def as_label_sets(labels: Labels, n: int, what: str = "labels") -> list[frozenset]:
    """Return one set of labels per row, from sets, lists or a 0/1 matrix."""
    require(len(labels) == n, f"{what}: one set per row; got {len(labels)} sets for {n} rows", DataError)
    if isinstance(labels, np.ndarray | torch.Tensor):
        matrix = labels.cpu().numpy() if isinstance(labels, torch.Tensor) else labels
        marked = matrix.astype(bool)
        require(bool((marked == matrix).all()), f"{what} as a matrix must hold 0 and 1 only", DataError)
        return [frozenset(np.flatnonzero(row).tolist()) for row in marked]
    return [frozenset(row) for row in labels]


def as_column(values: Any, n: int, what: str) -> np.ndarray:
    column = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
    refusal = f"{what}: one value per row; got shape {column.shape} for {n} rows"
    require(column.ndim == 1 and len(column) == n, refusal, DataError)
    require(column.dtype.kind in "iubUS", f"{what} must be whole numbers or text; got {column.dtype}", DataError)
    return column


def coded(queries: np.ndarray, references: np.ndarray | None) -> Coded:
    both = queries if references is None else np.concatenate([queries, references])
    names, codes = np.unique(both, return_inverse=True)
    return Coded(codes[: len(queries)], codes if references is None else codes[len(queries) :], names)


def row_numbers(rows: Any, n: int) -> np.ndarray | None:
    if rows is None:
        return None
    chosen = np.asarray(rows.cpu() if isinstance(rows, torch.Tensor) else rows)
    is_right = chosen.ndim == 1 and chosen.dtype.kind in "iu" and len(chosen) > 0
    is_right = is_right and int(chosen.min()) >= 0 and int(chosen.max()) < n
    require(is_right, f"query_rows must be row numbers in 0..{n - 1}")
    return chosen
