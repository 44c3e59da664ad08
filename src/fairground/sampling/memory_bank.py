"""The memory bank: the latest known embedding of every training image."""

import tempfile
from collections.abc import Mapping

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.errors import DataError, DivergedError, require
from fairground.functional.distances import normalize
from fairground.sampling.draws import mark_repeats

#: rows filled at a time, so that filling a mapped bank needs little memory besides
_BLOCK = 65536


class MemoryBank:
    """One embedding for each of `n_rows` images, kept in float32.

    An update overwrites; with `momentum` it moves only part of the way: new = momentum * old + (1 - momentum) * seen.
    With `normalise` what is kept has length one.
    Beyond `memory_limit` bytes the bank lies in an unnamed temporary file that is mapped into memory and vanishes with
    the process.
    """

    def __init__(
        self, n_rows: int, *, momentum: float = 0.0, normalise: bool = False, memory_limit: float = 4e9
    ) -> None:
        self._n_rows = n_rows
        self._momentum = momentum
        self._normalise = normalise
        self._memory_limit = memory_limit
        self._table: Tensor | None = None

    @property
    def table(self) -> Tensor:
        """The embeddings (n_rows, d)."""
        require(self._table is not None, "the memory bank is empty: `fill` must be called before the first batch")
        assert self._table is not None
        return self._table

    def at(self, rows: Tensor) -> Tensor:
        """Return the embeddings (b, d) of some rows (b,)."""
        if not self.table.is_cpu:
            return self.table.index_select(0, rows.to(self.table.device))
        # Not by torch, whose threads go on spinning for a while and keep those that work on the rows from starting.
        gathered = self.table.new_empty(len(rows), self.table.shape[1])
        _gather(self.table.numpy(), rows.numpy(force=True), gathered.numpy())
        return gathered

    def fill(self, embeddings: Tensor) -> None:
        """Take the embeddings of all images, in order."""
        require(
            embeddings.ndim == 2 and len(embeddings) == self._n_rows,
            f"the memory bank takes one embedding for each of {self._n_rows} images; got {tuple(embeddings.shape)}",
            DataError,
        )
        if self._table is None or self._table.shape != embeddings.shape:
            self._table = self._allocate(embeddings.shape[1])
        for start in range(0, self._n_rows, _BLOCK):
            block = slice(start, start + _BLOCK)
            self._table[block] = self._checked(embeddings[block].detach().to(self._table))

    def update(self, rows: Tensor, embeddings: Tensor) -> None:
        """Take newer embeddings (b, d) of some rows (b,); of a row given several times the last one counts."""
        seen = self._checked(embeddings.detach().to(self.table))
        rows = rows.to(self.table.device)
        # Writing to one place twice leaves the winner open, and with it the resumed run.
        is_last = ~mark_repeats(rows.flip(0).unsqueeze(0))[0].flip(0)
        rows, seen = rows[is_last], seen[is_last]
        if self._momentum > 0:
            seen = self._checked(self._momentum * self.table[rows] + (1 - self._momentum) * seen)
        self.table[rows] = seen

    def state_dict(self) -> dict[str, Tensor]:
        """Return the bank itself, if it has been filled."""
        return {} if self._table is None else {"bank": self._table}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take back what `state_dict` gave."""
        if "bank" in state:
            self._table = self._allocate(state["bank"].shape[1])
            self._table.copy_(state["bank"])

    def _checked(self, embeddings: Tensor) -> Tensor:
        # Nothing can be mined from what is not a number: better to stop here than to draw nonsense.
        require(
            bool(torch.isfinite(embeddings).all()), "the memory bank takes finite embeddings; got others", DivergedError
        )
        return normalize(embeddings) if self._normalise else embeddings

    def _allocate(self, width: int) -> Tensor:
        if 4 * self._n_rows * width <= self._memory_limit:
            return torch.empty(self._n_rows, width)
        with tempfile.TemporaryFile() as file:
            # The mapping keeps the space of the closed and nameless file alive for as long as the bank lives.
            return torch.from_numpy(np.memmap(file, dtype=np.float32, mode="w+", shape=(self._n_rows, width)))


@numba.njit(nogil=True, cache=True)
def _gather(table: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """Copy rows four at a time: memory far away is waited for at four places at once."""
    n = len(rows) // 4 * 4
    for i in range(0, n, 4):
        a, b, c, d = table[rows[i]], table[rows[i + 1]], table[rows[i + 2]], table[rows[i + 3]]
        to_a, to_b, to_c, to_d = out[i], out[i + 1], out[i + 2], out[i + 3]
        for j in range(len(a)):
            to_a[j], to_b[j], to_c[j], to_d[j] = a[j], b[j], c[j], d[j]
    for i in range(n, len(rows)):
        out[i] = table[rows[i]]
