"""Rows scaled to length one, and the way of a gradient back through that.

For the batch sizes of metric learning this is a handful of calls around no work at all, in every loss. In main memory
one compiled loop does each half; elsewhere tensor operations do.
"""

import numba
import numpy as np
import torch
from torch import Tensor

#: shorter rows have no direction: they are taken as 0, and so is their gradient
SHORTEST = 1e-12


def unit_rows(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return x / |x| for every row (..., d), and 1 / |x| as (..., 1); 0 for both where |x| is below 1e-12."""
    if not vectors.is_cpu:
        lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
        inverse = lengths.reciprocal().masked_fill_(lengths < SHORTEST, 0)
        return vectors * inverse, inverse
    given = vectors.detach().contiguous()
    units, inverse = torch.empty_like(given), given.new_empty(*given.shape[:-1], 1)
    _normalise(_rows(given), _rows(units), _rows(inverse))
    return units, inverse


def across(gradient: Tensor, units: Tensor, inverse: Tensor) -> Tensor:
    """Return the gradient by x, given the one by x / |x|: without its part along x, over |x|. Overwrites it."""
    if not gradient.is_cpu:
        along = (gradient * units).sum(-1, keepdim=True)
        return gradient.addcmul_(units, along, value=-1).mul_(inverse)
    gradient = gradient.contiguous()
    _take_across(_rows(gradient), _rows(units), _rows(inverse))
    return gradient


def _rows(tensor: Tensor) -> np.ndarray:
    return tensor.view(-1, tensor.shape[-1]).numpy()


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _normalise(vectors: np.ndarray, units: np.ndarray, inverse: np.ndarray) -> None:
    kind = vectors.dtype.type
    for i in range(len(vectors)):
        row, unit = vectors[i], units[i]
        square = kind(0)
        for j in range(len(row)):
            square += row[j] * row[j]
        length = np.sqrt(square)
        scale = kind(0) if length < kind(SHORTEST) else kind(1) / length
        inverse[i, 0] = scale
        for j in range(len(row)):
            unit[j] = row[j] * scale


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _take_across(gradient: np.ndarray, units: np.ndarray, inverse: np.ndarray) -> None:
    for i in range(len(gradient)):
        row, unit = gradient[i], units[i]
        along = gradient.dtype.type(0)
        for j in range(len(row)):
            along += row[j] * unit[j]
        for j in range(len(row)):
            row[j] = (row[j] - along * unit[j]) * inverse[i, 0]
