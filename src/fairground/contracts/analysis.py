"""What every analysis of an embedding space is, and what it may ask of the space."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fairground.contracts import DataError, Part, require

#: what the files of these parts need beside what is defined here
__all__ = ["Analysis", "DataError", "require"]


class EmbeddingSpace(Protocol):
    """One labelled set of embeddings, each fact about it computed once when first asked.

    Rows are unit vectors unless the space was made to keep raw ones.
    """

    @property
    def n_rows(self) -> int: ...

    @property
    def row_classes(self) -> np.ndarray:
        """The class of each row, as 0..C-1."""

    @property
    def singular_values(self) -> np.ndarray:
        """The singular values of the matrix of all rows, not centred, descending."""

    def row_blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows in order, in blocks (n_k, d) of bounded size."""

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Return some rows (k, d) as float64."""

    def neighbour_numbers(self, k: int) -> np.ndarray:
        """Return the rows (n, k) nearest to each row, itself left out, nearest first."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What an analysis found: named numbers, named curves, and remarks in sentences."""

    values: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, np.ndarray] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


class Analysis(Part, ABC):
    """An embedding space in, findings out."""

    def __init__(self) -> None:
        """Take no settings; an analysis with settings has a constructor of its own."""

    @abstractmethod
    def measure(self, space: EmbeddingSpace) -> Findings:
        """Return what there is to say about the space."""
