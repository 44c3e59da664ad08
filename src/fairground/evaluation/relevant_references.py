"""Which references are relevant to which queries, and how much: by class, shared labels, levels, or a function.

Pairs of one group, such as two images of one camera or one sequence, can be left out: a model finds them too easily.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from fairground.retrieval import DataError, Relevant, require

GroupRule = Literal["same_group", "same_class_and_group"]
#: how labels make relevance; `levels` takes one label per level of a hierarchy, the others sets of labels
RelevanceRule = Literal["any", "same", "query_share", "jaccard", "levels"]
#: relevant rows (k,) of a query, ascending, and their grades where relevance is more than yes or no
GradedRows = tuple[np.ndarray, np.ndarray | None]
#: rows of queries (q,) and of references (r,) to a matrix (q, r) of truth values, or of grades from 0 to 1
RelevanceFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: labels of each item, or of all
_Counts = np.ndarray | int
#: of queries and of references: pairs with equal numbers are left out
Groups = tuple[np.ndarray, np.ndarray]


def relevance_of(rule: RelevanceRule, n_shared: np.ndarray, n_query: _Counts, n_item: _Counts) -> np.ndarray:
    """Return r(query, item) in [0, 1] by how many labels both share and how many each has.

    `any` is 1 where they share one, `same` where they share all; `query_share` and `jaccard` divide by the labels of
    the query and by those of either. The levels of a hierarchy are labels too, of which all rows have as many.
    """
    if rule == "any":
        return np.asarray(n_shared > 0, dtype=np.float64)
    if rule == "same":
        return np.asarray((n_shared == n_query) & (n_shared == n_item), dtype=np.float64)
    return np.asarray(n_shared / (n_query + n_item - n_shared if rule == "jaccard" else n_query))


class Relevance(ABC):
    """Relevant references of every query, in an order of queries and of references that suits their search.

    `query_order` and `reference_order` are row numbers; everything else is in those orders. `own[q]` is the place of
    query q among the references, or -1. `groups` are left-out pairs. `n_levels` is that of a hierarchy, 1 without one.
    """

    n_levels: int = 1

    query_order: np.ndarray
    reference_order: np.ndarray
    own: np.ndarray
    n_relevant: np.ndarray
    groups: Groups | None

    @abstractmethod
    def lists(self, start: int, stop: int) -> Relevant:
        """Return the relevant references of queries start..stop."""

    def counted_queries(self, lone: str) -> np.ndarray:
        """Return the queries (q,) that count in a mean; lone ones, with nothing to find, drop out or count as zero."""
        require(lone in ("drop", "zero"), f"lone must be 'drop' or 'zero'; got '{lone}'")
        is_counted = np.ones(len(self.query_order), bool)
        if lone == "drop":
            is_counted[self.query_order] = self.n_relevant > 0
        return is_counted


class SameClass(Relevance):
    """References of the query's class. Both sides are put in order of class, so that relevant pairs are adjacent.

    With `levels`, codes (n, L) of queries and of references, a pair has the share of levels that are equal as grade.
    """

    def __init__(
        self,
        query_classes: np.ndarray,
        reference_classes: np.ndarray,
        own_rows: np.ndarray,
        groups: Groups | None,
        levels: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.query_order = np.argsort(query_classes, kind="stable")
        self.reference_order = np.argsort(reference_classes, kind="stable")
        mine, theirs = query_classes[self.query_order], reference_classes[self.reference_order]
        self._begin = np.searchsorted(theirs, mine, side="left")
        self._size = np.searchsorted(theirs, mine, side="right") - self._begin
        own = own_rows[self.query_order]
        self.own = np.where(own < 0, -1, np.argsort(self.reference_order)[own])
        self.n_relevant = self._size - (self.own >= 0)
        orders = self.query_order, self.reference_order
        #: a row per level
        self._levels = levels and [side[order].T.copy() for side, order in zip(levels, orders, strict=True)]
        self.n_levels = 1 if levels is None else levels[0].shape[1]
        self.groups = None
        if groups is not None:
            self.groups = groups[0][self.query_order], groups[1][self.reference_order]
            n_groups = int(max(group.max() for group in groups)) + 1
            kinds, kind = np.sort(theirs * n_groups + self.groups[1]), mine * n_groups + self.groups[0]
            self.n_relevant = self._size - np.searchsorted(kinds, kind, "right") + np.searchsorted(kinds, kind, "left")

    def lists(self, start: int, stop: int) -> Relevant:
        size = self._size[start:stop]
        query = np.repeat(np.arange(start, stop), size)
        first = np.cumsum(size) - size
        where = np.arange(size.sum()) - np.repeat(first - self._begin[start:stop], size)
        kept = where != self.own[query]
        if self.groups is not None:
            kept &= self.groups[0][query] != self.groups[1][where]
        query, where, grades = query[kept], where[kept].astype(np.int32), None
        if self._levels is not None:
            n_shared = sum((a[query] == b[where]).astype(np.int64) for a, b in zip(*self._levels, strict=True))
            grades = relevance_of("levels", n_shared, self.n_levels, self.n_levels)
        return Relevant(start, _offsets(self.n_relevant[start:stop]), where, grades)


class Listed(Relevance):
    """Relevant references written out one by one, from label sets or a function."""

    def __init__(
        self, lists: Iterable[GradedRows], n_references: int, own_rows: np.ndarray, groups: Groups | None
    ) -> None:
        self.query_order, self.reference_order = np.arange(len(own_rows)), np.arange(n_references)
        self.own, self.groups = own_rows, groups
        rows, grades = zip(*lists, strict=True)
        query, where = np.repeat(np.arange(len(rows)), [len(some) for some in rows]), np.concatenate(rows)
        is_kept = where != own_rows[query]
        if groups is not None:
            is_kept &= groups[1][where] != groups[0][query]
        self.n_relevant = np.bincount(query[is_kept], minlength=len(rows))
        self._offsets, self._where = _offsets(self.n_relevant), where[is_kept].astype(np.int32)
        self._grades = None if grades[0] is None else np.concatenate(grades)[is_kept]

    def lists(self, start: int, stop: int) -> Relevant:
        offsets = self._offsets[start : stop + 1]
        here = slice(offsets[0], offsets[-1])
        grades = None if self._grades is None else self._grades[here]
        return Relevant(start, offsets - offsets[0], self._where[here], grades)


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def lists_from_sets(
    query_sets: Sequence[frozenset], reference_sets: Sequence[frozenset], rule: RelevanceRule | None = None
) -> Iterable[GradedRows]:
    rows_of: dict[object, list[int]] = {}
    for row, labels in enumerate(reference_sets):
        for label in labels:
            rows_of.setdefault(label, []).append(row)
    arrays = {label: np.array(rows) for label, rows in rows_of.items()}
    n_labels = np.array([len(labels) for labels in reference_sets])
    for labels in query_sets:
        found = [arrays[label] for label in labels if label in arrays] or [np.empty(0, np.int64)]
        rows, n_shared = np.unique(np.concatenate(found), return_counts=True)
        if rule in (None, "any"):
            yield rows, None
        else:
            grades = relevance_of(rule or "any", n_shared, len(labels), n_labels[rows])
            yield rows[grades > 0], grades[grades > 0]


def lists_from_function(
    relevance: RelevanceFunction, query_rows: np.ndarray, n_references: int
) -> Iterable[GradedRows]:
    """Yield, for every query, the references the function calls relevant; asked in bounded blocks."""
    references = np.arange(n_references)
    step = max(1, 2**24 // n_references)
    for start in range(0, len(query_rows), step):
        rows = query_rows[start : start + step]
        verdict = np.asarray(relevance(rows, references))
        wanted, got = (len(rows), n_references), f"got {verdict.dtype} of shape {verdict.shape}"
        refusal = f"the relevance function must return a matrix of truth values or grades of shape {wanted}; {got}"
        require(verdict.shape == wanted and verdict.dtype.kind in "bf", refusal, DataError)
        is_within = bool(((verdict >= 0) & (verdict <= 1)).all())
        require(is_within, "the grades of the relevance function must be in [0, 1]", DataError)
        for row in verdict:
            found = np.flatnonzero(row)
            yield found, row[found].astype(np.float64) if verdict.dtype.kind == "f" else None
