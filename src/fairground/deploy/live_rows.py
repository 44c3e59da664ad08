"""The rows of an index as one array: parts on disk after each other, without the rows that were removed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairground.retrieval.row_codes import RowCodes, row_lengths

#: rows read at once; their products stay in the processor's cache
BLOCK = 65536


@dataclass(frozen=True)
class RowPart:
    """Rows (n, d) in single precision; `is_live` (n,) is None where none was removed, `codes` where there are none."""

    rows: np.ndarray
    codes: RowCodes | None = None
    is_live: np.ndarray | None = None

    @cached_property
    def live(self) -> np.ndarray | None:
        """The places of the rows that were not removed, None where that is every row."""
        return None if self.is_live is None else np.flatnonzero(self.is_live)

    def __len__(self) -> int:
        return len(self.rows) if self.live is None else len(self.live)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rows of these numbers, counted without those removed."""
        return np.asarray(self.rows[numbers if self.live is None else self.live[numbers]], np.float32)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The length of each row that was not removed."""
        if self.codes is not None:
            held = self.codes.bounds[2]
            return np.asarray(held if self.live is None else held[self.live])
        begins = range(0, len(self), BLOCK)
        found = [row_lengths(self.take(np.arange(begin, min(begin + BLOCK, len(self))))) for begin in begins]
        return np.concatenate(found) if found else np.empty(0, np.float32)


class LiveRows:
    """Parts as one array (n, d): it can be sliced, indexed by numbers, read in blocks, and made an array of NumPy."""

    def __init__(self, parts: Sequence[RowPart], width: int) -> None:
        self.parts = tuple(parts)
        #: the number of each part's first row, and that of all rows
        self.edges = np.concatenate([[0], np.cumsum([len(part) for part in self.parts])]).astype(np.int64)
        self.shape = (int(self.edges[-1]), width)

    @classmethod
    def of(cls, rows: "np.ndarray | LiveRows") -> "LiveRows":
        """Return an array as one part."""
        return rows if isinstance(rows, LiveRows) else cls([RowPart(rows)], rows.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, wanted: "slice | np.ndarray | int") -> np.ndarray:
        if isinstance(wanted, int | np.integer):
            found: np.ndarray = self.take(np.array([wanted]))[0]
            return found
        return self.take(np.arange(len(self))[wanted])

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    @cached_property
    def longest(self) -> float:
        """The length of the longest row; not a number where a length or a bound is none."""
        bounds = [part.codes.bounds if part.codes is not None else part.lengths for part in self.parts]
        if not all(np.isfinite(held).all() for held in bounds):
            return float("nan")
        return max((float(part.lengths.max(initial=0.0)) for part in self.parts), default=0.0)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rows of these numbers, in their order."""
        wanted = np.arange(len(self))[numbers]
        found = np.empty((len(wanted), self.shape[1]), np.float32)
        owners = self.owners(wanted)
        for owner in np.unique(owners):
            is_here = owners == owner
            found[is_here] = self.parts[owner].take(wanted[is_here] - self.edges[owner])
        return found

    def owners(self, numbers: np.ndarray) -> np.ndarray:
        """Return which part each row is in."""
        return np.searchsorted(self.edges, numbers, side="right") - 1

    def blocks(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield the number of the first row, rows, and their lengths, one block after another."""
        for part, first in zip(self.parts, self.edges, strict=False):
            for begin in range(0, len(part), BLOCK):
                end = min(begin + BLOCK, len(part))
                rows = part.rows[begin:end] if part.live is None else part.rows[part.live[begin:end]]
                yield int(first) + begin, np.asarray(rows, np.float32), part.lengths[begin:end]
