"""The sealed test split: its rows cannot be read before selection is over."""

from collections.abc import Callable

import numpy as np

from fairground.errors import SealError, require


class SealedRows:
    """Row numbers of a test split that cannot be read before selection is over.

    A validation score may be looked at any number of times; a test score looked at once has begun to select. Every
    opening is reported to the `witness`.
    """

    def __init__(self, rows: np.ndarray, *, witness: Callable[[str], None] | None = None) -> None:
        self._rows = rows
        self._witness = witness
        self._ended_by: str | None = None

    def end_selection(self, how: str) -> None:
        self._ended_by = how

    def open(self) -> np.ndarray:
        refusal = "the test split is sealed until training and selection are over; measure on validation instead"
        require(self._ended_by is not None, refusal, SealError)
        if self._witness is not None:
            self._witness(f"test split opened ({len(self._rows)} images) after {self._ended_by}")
        return self._rows
