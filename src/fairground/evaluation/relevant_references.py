"""Which references are relevant to which queries: those of the same class, of a shared label, or as a function says.

Pairs of one group, such as two images of one camera or one sequence, can be left out: a model finds them too easily.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from fairground.retrieval import DataError, Relevant, require

GroupRule = Literal["same_group", "same_class_and_group"]
#: rows of queries (q,) and of references (r,) to a boolean matrix (q, r)
RelevanceFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: of queries and of references: pairs with equal numbers are left out
Groups = tuple[np.ndarray, np.ndarray]


class Relevance(ABC):
    """Relevant references of every query, in an order of queries and of references that suits their search.

    `query_order` and `reference_order` are row numbers; everything else is in those orders. `own[q]` is the place of
    query q among the references, or -1. `groups` are left-out pairs.
    """

    query_order: np.ndarray
    reference_order: np.ndarray
    own: np.ndarray
    n_relevant: np.ndarray
    groups: Groups | None

    @abstractmethod
    def lists(self, start: int, stop: int) -> Relevant:
        """Return the relevant references of queries start..stop."""


class SameClass(Relevance):
    """References of the query's class. Both sides are put in order of class, so that relevant pairs are adjacent."""

    def __init__(
        self, query_classes: np.ndarray, reference_classes: np.ndarray, own_rows: np.ndarray, groups: Groups | None
    ) -> None:
        self.query_order = np.argsort(query_classes, kind="stable")
        self.reference_order = np.argsort(reference_classes, kind="stable")
        mine, theirs = query_classes[self.query_order], reference_classes[self.reference_order]
        self._begin = np.searchsorted(theirs, mine, side="left")
        self._size = np.searchsorted(theirs, mine, side="right") - self._begin
        own = own_rows[self.query_order]
        self.own = np.where(own < 0, -1, np.argsort(self.reference_order)[own])
        self.n_relevant = self._size - (self.own >= 0)
        self.groups = None
        if groups is not None:
            self.groups = groups[0][self.query_order], groups[1][self.reference_order]
            n_groups = int(max(group.max() for group in groups)) + 1
            kinds, counts = np.unique(theirs * n_groups + self.groups[1], return_counts=True)
            kind = mine * n_groups + self.groups[0]
            at = np.minimum(np.searchsorted(kinds, kind), len(kinds) - 1)
            self.n_relevant = self._size - np.where(kinds[at] == kind, counts[at], 0)

    def lists(self, start: int, stop: int) -> Relevant:
        size = self._size[start:stop]
        query = np.repeat(np.arange(start, stop), size)
        first = np.cumsum(size) - size
        where = np.arange(size.sum()) - np.repeat(first - self._begin[start:stop], size)
        kept = where != self.own[query]
        if self.groups is not None:
            kept &= self.groups[0][query] != self.groups[1][where]
        return Relevant(start, _offsets(self.n_relevant[start:stop]), where[kept].astype(np.int32))


class Listed(Relevance):
    """Relevant references written out one by one, from label sets or a function."""

    def __init__(
        self, lists: Iterable[np.ndarray], n_references: int, own_rows: np.ndarray, groups: Groups | None
    ) -> None:
        self.query_order, self.reference_order = np.arange(len(own_rows)), np.arange(n_references)
        self.own, self.groups = own_rows, groups
        kept = [rows[rows != own] for rows, own in zip(lists, own_rows, strict=True)]
        if groups is not None:
            kept = [rows[groups[1][rows] != group] for rows, group in zip(kept, groups[0], strict=True)]
        self.n_relevant = np.array([len(rows) for rows in kept], np.int64)
        self._offsets = _offsets(self.n_relevant)
        self._where = np.concatenate(kept).astype(np.int32)

    def lists(self, start: int, stop: int) -> Relevant:
        offsets = self._offsets[start : stop + 1]
        return Relevant(start, offsets - offsets[0], self._where[offsets[0] : offsets[-1]])


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def lists_from_sets(query_sets: Sequence[frozenset], reference_sets: Sequence[frozenset]) -> Iterable[np.ndarray]:
    rows_of: dict[object, list[int]] = {}
    for row, labels in enumerate(reference_sets):
        for label in labels:
            rows_of.setdefault(label, []).append(row)
    arrays = {label: np.array(rows) for label, rows in rows_of.items()}
    nothing = np.empty(0, np.int64)
    for labels in query_sets:
        found = [arrays[label] for label in labels if label in arrays]
        yield np.unique(np.concatenate(found)) if found else nothing


def lists_from_function(
    relevance: RelevanceFunction, query_rows: np.ndarray, n_references: int
) -> Iterable[np.ndarray]:
    """Yield, for every query, the references the function calls relevant; asked in bounded blocks."""
    references = np.arange(n_references)
    step = max(1, 2**24 // n_references)
    for start in range(0, len(query_rows), step):
        rows = query_rows[start : start + step]
        verdict = np.asarray(relevance(rows, references))
        wanted, got = (len(rows), n_references), f"got {verdict.dtype} of shape {verdict.shape}"
        refusal = f"the relevance function must return a boolean matrix of shape {wanted}; {got}"
        require(verdict.shape == wanted and verdict.dtype == bool, refusal, DataError)
        for row in verdict:
            yield np.flatnonzero(row)
