"""Embeddings in fewer bits: whole numbers of eight bits, and signs.

Formula
    int8    x ~ s c,  c = round(127 x / max |x_i|),  s = |x| / |c|: symmetric, so that products of codes are products
            of vectors, and of the same length, so that cosines keep their scale
    binary  the signs of x; the nearest by Hamming distance, `SHORTLIST` times as many as asked for, are then scored
            by their int8 rows

Codes depend on their row alone: rows can be added without looking at the others again.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Precision = Literal["float32", "int8", "binary"]
#: rows per neighbour asked for that are scored after a search by signs
SHORTLIST = 10
BLOCK = 65536


@dataclass(frozen=True)
class QuantisedRows:
    """Codes (n, d) and scales (n,) that read as rows of floats: `rows[begin:end]`, `rows[numbers]`."""

    codes: np.ndarray
    scales: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, which: Any) -> np.ndarray:
        rows = self.codes[which].astype(np.float32)
        rows *= self.scales[which][..., None]
        return rows


def quantise(rows: np.ndarray) -> QuantisedRows:
    largest = np.maximum(np.abs(rows).max(1, keepdims=True), np.finfo(np.float32).tiny)
    codes = np.rint(127 * (rows / largest)).astype(np.int8)
    lengths, made = (np.sqrt((one.astype(np.float64) ** 2).sum(1)) for one in (rows, codes))
    return QuantisedRows(codes, (lengths / np.maximum(made, 1)).astype(np.float32))


def signs_of(rows: np.ndarray) -> np.ndarray:
    """Return the signs (n, w) of rows, 64 to a word, filled up with zeros."""
    n, width = rows.shape
    bits = np.zeros((n, -(-width // 64) * 8), np.uint8)
    packed = np.packbits(rows > 0, axis=1)
    bits[:, : packed.shape[1]] = packed
    return bits.view("<u8")


def nearest_by_signs(queries: np.ndarray, signs: np.ndarray, k: int, removed: np.ndarray) -> np.ndarray:
    """Return the numbers (q, k) of the rows whose signs differ least; of equal ones the earlier, ascending."""
    wanted, n = signs_of(queries), len(signs)
    found = np.empty((len(queries), k), np.int64)
    for query, mine in enumerate(wanted):
        apart = (np.bitwise_xor(signs[first : first + BLOCK], mine) for first in range(0, n, BLOCK))
        keys = np.concatenate([np.bitwise_count(bits).sum(1, dtype=np.int64) for bits in apart])
        keys[removed] = 64 * signs.shape[1] + 1
        # One number per row, so that none ties.
        keys = keys * n + np.arange(n)
        found[query] = np.sort(np.argpartition(keys, k - 1)[:k])
    return found
