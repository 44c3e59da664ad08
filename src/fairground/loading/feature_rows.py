"""Ready-made features in the place of images: rows of numbers, left on disk where the file allows it."""

import hashlib

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.table import Images
from fairground.errors import DataError, require

#: rows looked at in one go
_BLOCK_BYTES = 2**24
_NO_SIZE = "features have no height and width, so this transform cannot cut them; say transform=plain trunk=features"


class FeatureRows(Images):
    """Features (n, d) of any kind of number, given out as float32. Rows that are not finite are refused by number."""

    is_picture = False

    def __init__(self, features: np.ndarray, *, origin: str) -> None:
        require(
            features.ndim == 2 and features.shape[1] > 0,
            f"features must be one row per item, (n, d); {origin} has shape {features.shape}",
            DataError,
        )
        require(features.dtype.kind in "fiu", f"features must be numbers; {origin} has {features.dtype}", DataError)
        self._features = features
        self._check_finite(origin)

    def __len__(self) -> int:
        return len(self._features)

    @property
    def channels(self) -> int:
        return int(self._features.shape[1])

    def take(self, rows: np.ndarray) -> Tensor:
        return _as_float32(self._features[np.asarray(rows)])

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        raise DataError(_NO_SIZE)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        raise DataError(_NO_SIZE)

    def fingerprint(self) -> str:
        digest = hashlib.sha256(f"{self._features.shape} {self._features.dtype.str}".encode())
        for begin in range(0, len(self._features), self._block):
            digest.update(np.ascontiguousarray(self._features[begin : begin + self._block]).tobytes())
        return digest.hexdigest()

    @property
    def _block(self) -> int:
        return max(1, _BLOCK_BYTES // (self.channels * 4))

    def _check_finite(self, origin: str) -> None:
        bad: list[int] = []
        for begin in range(0, len(self._features), self._block):
            block = _as_float32(np.array(self._features[begin : begin + self._block]))
            bad.extend((begin + np.flatnonzero(~torch.isfinite(block).all(1).numpy())).tolist())
        shown = ", ".join(str(row) for row in bad[:5]) + (", ..." if len(bad) > 5 else "")
        require(
            not bad,
            f"{origin}: {len(bad)} of {len(self._features)} rows are not finite numbers as float32: rows {shown} "
            "(counted from 0)",
            DataError,
        )


def _as_float32(block: np.ndarray) -> Tensor:
    # torch turns halves into floats eight times as fast as numpy; the numbers are the same.
    if block.dtype == np.float16:
        return torch.from_numpy(block).float()
    return torch.from_numpy(np.asarray(block, dtype=np.float32))
