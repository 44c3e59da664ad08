"""Rows scaled to length one, and the way of a gradient back through that; equals `functional.distances.normalize`.

For the batch sizes of metric learning this is a handful of calls around no work at all, in every loss: one compiled
loop does each half.
"""

import numba
import numpy as np
import torch
from torch import Tensor

#: shorter rows have no direction: they are taken as 0, and so is their gradient
SHORTEST = 1e-12


def normalize_rows(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return x / |x| for every row (..., d), and 1 / |x| as (..., 1); 0 for both where |x| is below 1e-12."""
    given = vectors.detach().contiguous()
    units, inverse = torch.empty_like(given), given.new_empty(*given.shape[:-1], 1)
    _normalize(_rows(given), _rows(units), _rows(inverse))
    return units, inverse


def tangent_projection(gradient: Tensor, units: Tensor, inverse: Tensor) -> Tensor:
    """Return the gradient by x, given the one by x / |x|: without its part along x, over |x|. Overwrites it."""
    gradient = gradient.contiguous()
    _project(_rows(gradient), _rows(units), _rows(inverse))
    return gradient


def _rows(tensor: Tensor) -> np.ndarray:
    return tensor.view(-1, tensor.shape[-1]).numpy()


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _normalize(vectors: np.ndarray, units: np.ndarray, inverse: np.ndarray) -> None:
    kind = vectors.dtype.type
    for i in range(len(vectors)):
        row, unit = vectors[i], units[i]
        square = kind(0)
        for j in range(len(row)):
            square += row[j] * row[j]
        length = np.sqrt(square)
        if np.isinf(length):
            _normalize_large(row, unit, inverse[i])
            continue
        scale = kind(0) if length < kind(SHORTEST) else kind(1) / length
        inverse[i, 0] = scale
        for j in range(len(row)):
            unit[j] = row[j] * scale


@numba.njit(nogil=True, cache=True)
def _normalize_large(row: np.ndarray, unit: np.ndarray, inverse: np.ndarray) -> None:
    """Do the same for a row whose squares are too large for their type, its largest entry taken out first."""
    kind = row.dtype.type
    largest = kind(0)
    for j in range(len(row)):
        largest = max(largest, abs(row[j]))
    square = kind(0)
    for j in range(len(row)):
        unit[j] = row[j] / largest
        square += unit[j] * unit[j]
    length = np.sqrt(square)
    inverse[0] = kind(1) / length / largest
    for j in range(len(row)):
        unit[j] /= length


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _project(gradient: np.ndarray, units: np.ndarray, inverse: np.ndarray) -> None:
    for i in range(len(gradient)):
        row, unit = gradient[i], units[i]
        along = gradient.dtype.type(0)
        for j in range(len(row)):
            along += row[j] * unit[j]
        for j in range(len(row)):
            row[j] = (row[j] - along * unit[j]) * inverse[i, 0]
