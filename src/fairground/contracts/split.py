"""What every split is: which rows train, validate and test, and which splits are refused."""

from abc import ABC, abstractmethod
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fairground.contracts import DataError, ImageTable, Part, require

#: what the files of these parts need beside what is defined here
__all__ = ["DataError", "ImageTable", "Split", "require"]


class SplitRows(NamedTuple):
    """Row numbers that train, validate and test. `is_closed_set` says that classes may appear in several parts.

    `validation` may be empty: only a protocol that selects on the test split can do without. `for_two_classes` are the
    settings that would let two classes validate. `distance` is how far test classes are from training classes, where a
    split measures it.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    is_closed_set: bool = False
    for_two_classes: str = ""
    distance: float | None = None

    def check(self, labels: np.ndarray) -> None:
        """Refuse empty parts, shared rows, and (unless closed-set) shared classes."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        for name, rows in parts.items():
            complaint = f"the {name} split is empty: the data has too few classes for this split"
            require(len(rows) > 0 or name == "validation", complaint, DataError)
            require(len(np.unique(rows)) == len(rows), f"the {name} split lists an image twice", DataError)
        for first, second in combinations(parts, 2):
            shared = np.intersect1d(parts[first], parts[second])
            require(len(shared) == 0, f"{len(shared)} images are in both {first} and {second}", DataError)
            classes = np.intersect1d(labels[parts[first]], labels[parts[second]])
            complaint = f"{len(classes)} classes are in both {first} and {second} (the first is number {classes[:1]})"
            require(self.is_closed_set or len(classes) == 0, complaint, DataError)

    def tests_trained_classes(self, labels: np.ndarray) -> bool:
        return len(np.intersect1d(labels[self.test], labels[self.train])) > 0

    def notes(self, labels: np.ndarray) -> tuple[str, ...]:
        """Return sentences for the record: that test classes were trained on, that validation can choose nothing."""
        tested = np.unique(labels[self.test])
        shared = np.intersect1d(tested, labels[self.train])
        closed = (f"closed set: {len(shared)} of {len(tested)} test classes are trained on",) if len(shared) else ()
        is_vacuous = len(np.unique(labels[self.validation])) == 1
        more = f"; {self.for_two_classes} lets two validate" if self.for_two_classes else ""
        vacuous = f"one class validates: all neighbours are of it, so every model has perfect scores there{more}"
        return (*closed, vacuous) if is_vacuous else closed


class Split(Part, ABC):
    """Divides a table into parts; draws nothing at random beyond what its settings say."""

    def parts(self, table: ImageTable) -> SplitRows:
        found = self.divide(table)
        found.check(table.labels)
        return found

    @abstractmethod
    def divide(self, table: ImageTable) -> SplitRows:
        """Return the parts of `table`; empty parts, shared rows and shared classes are refused afterwards."""
