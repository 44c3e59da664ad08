"""Which references are relevant to which queries: those of the same class, of a shared label, or as a function says.

Pairs of one group, such as two images of one camera or one sequence, can be left out: a model finds them too easily.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from fairground.errors import DataError, require
from fairground.evaluation import checked_arrays
from fairground.retrieval.ranks import Relevant

GroupRule = Literal["same_group", "same_class_and_group"]
#: rows of queries (q,) and of references (r,) to a boolean matrix (q, r)
RelevanceFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Relevance(ABC):
    """Relevant references of every query, in an order of queries and of references that suits their search.

    `query_order` and `reference_order` are row numbers; everything else counts places in those orders. `own[q]` is the
    place of query q among the references, or -1.
    """

    query_order: np.ndarray
    reference_order: np.ndarray
    own: np.ndarray
    n_relevant: np.ndarray

    @abstractmethod
    def lists(self, start: int, stop: int) -> Relevant:
        """Return the relevant references of queries start..stop."""


class SameClass(Relevance):
    """References of the query's class. Both sides are put in order of class, so that relevant pairs are adjacent."""

    def __init__(
        self,
        query_classes: np.ndarray,
        reference_classes: np.ndarray,
        own_rows: np.ndarray | None,
        query_groups: np.ndarray | None = None,
        reference_groups: np.ndarray | None = None,
    ) -> None:
        self.query_order = np.argsort(query_classes, kind="stable")
        self.reference_order = np.argsort(reference_classes, kind="stable")
        in_order = reference_classes[self.reference_order]
        classes = query_classes[self.query_order]
        self._begin = np.searchsorted(in_order, classes, side="left")
        self._size = np.searchsorted(in_order, classes, side="right") - self._begin
        self.own = place_of(own_rows, self.query_order, self.reference_order)
        self._query_groups = None if query_groups is None else query_groups[self.query_order]
        self._reference_groups = None if reference_groups is None else reference_groups[self.reference_order]
        self.n_relevant = self._size - (self.own >= 0)
        if query_groups is not None and reference_groups is not None:
            pairs = _pair_codes(query_classes, query_groups, reference_classes, reference_groups)
            kinds, counts = np.unique(pairs[1], return_counts=True)
            mine = pairs[0][self.query_order]
            at = np.minimum(np.searchsorted(kinds, mine), len(kinds) - 1)
            self.n_relevant = self._size - np.where(kinds[at] == mine, counts[at], 0)

    def lists(self, start: int, stop: int) -> Relevant:
        """Return the relevant references of queries start..stop."""
        size = self._size[start:stop]
        query = np.repeat(np.arange(start, stop), size)
        first = np.cumsum(size) - size
        where = np.arange(size.sum()) - np.repeat(first - self._begin[start:stop], size)
        kept = where != self.own[query]
        if self._query_groups is not None and self._reference_groups is not None:
            kept &= self._query_groups[query] != self._reference_groups[where]
        return Relevant(start, _offsets(self.n_relevant[start:stop]), where[kept].astype(np.int32))


class Listed(Relevance):
    """Relevant references written out one by one, from label sets or a function."""

    def __init__(
        self,
        lists: Iterable[np.ndarray],
        n_queries: int,
        n_references: int,
        own_rows: np.ndarray | None,
        query_groups: np.ndarray | None = None,
        reference_groups: np.ndarray | None = None,
    ) -> None:
        self.query_order = np.arange(n_queries)
        self.reference_order = np.arange(n_references)
        self.own = np.full(n_queries, -1) if own_rows is None else own_rows
        kept = [rows[rows != own_row] for rows, own_row in zip(lists, self.own, strict=True)]
        if query_groups is not None and reference_groups is not None:
            kept = [rows[reference_groups[rows] != group] for rows, group in zip(kept, query_groups, strict=True)]
        self.n_relevant = np.array([len(rows) for rows in kept], np.int64)
        self._offsets = _offsets(self.n_relevant)
        self._where = np.concatenate(kept).astype(np.int32) if kept else np.empty(0, np.int32)

    def lists(self, start: int, stop: int) -> Relevant:
        """Return the relevant references of queries start..stop."""
        offsets = self._offsets[start : stop + 1]
        return Relevant(start, offsets - offsets[0], self._where[offsets[0] : offsets[-1]])


def lists_from_sets(query_sets: Sequence[frozenset], reference_sets: Sequence[frozenset]) -> Iterable[np.ndarray]:
    """Yield, for every query, the references that share a label with it."""
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
        require(
            verdict.shape == (len(rows), n_references) and verdict.dtype == bool,
            f"the relevance function must return a boolean matrix of shape {(len(rows), n_references)}; "
            f"got {verdict.dtype} of shape {verdict.shape}",
            DataError,
        )
        for row in verdict:
            yield np.flatnonzero(row)


def relevance_of(
    function: RelevanceFunction | None,
    classes: checked_arrays.Coded | None,
    labels: tuple[checked_arrays.Labels, checked_arrays.Labels],
    rows: np.ndarray,
    n_references: int,
    own: np.ndarray | None,
    groups: tuple[np.ndarray | None, np.ndarray | None],
) -> Relevance:
    """Return what the queries `rows` should find: as the function says if there is one, else by their labels."""
    if function is not None:
        return Listed(lists_from_function(function, rows, n_references), len(rows), n_references, own, *groups)
    if classes is not None:
        return SameClass(classes.queries[rows], classes.references, own, *groups)
    mine = checked_arrays.as_label_sets(labels[0], len(labels[0]))
    theirs = mine if own is not None else checked_arrays.as_label_sets(labels[1], n_references, "reference_labels")
    return Listed(lists_from_sets([mine[row] for row in rows], theirs), len(rows), n_references, own, *groups)


def place_of(own_rows: np.ndarray | None, query_order: np.ndarray, reference_order: np.ndarray) -> np.ndarray:
    """Return where each query (in order) stands among the references (in order), -1 where it does not."""
    if own_rows is None:
        return np.full(len(query_order), -1)
    place = np.empty(len(reference_order), np.int64)
    place[reference_order] = np.arange(len(reference_order))
    own: np.ndarray = place[own_rows[query_order]]
    return own


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def _pair_codes(
    query_classes: np.ndarray, query_groups: np.ndarray, reference_classes: np.ndarray, reference_groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return one number for each (class, group), for queries and for references."""
    n_groups = int(max(query_groups.max(), reference_groups.max())) + 1
    return query_classes * n_groups + query_groups, reference_classes * n_groups + reference_groups


def coded_groups(
    groups: Any,
    reference_groups: Any,
    rule: GroupRule,
    embeddings: checked_arrays.Embeddings,
    references: checked_arrays.Embeddings | None,
    classes: checked_arrays.Coded | None,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return numbers for rows and references such that pairs with equal numbers are left out; None without groups."""
    rules = ("same_group", "same_class_and_group")
    require(rule in rules, f"group_rule must be one of {', '.join(rules)}; got '{rule}'")
    if groups is None:
        require(reference_groups is None, "reference_groups were given without groups")
        return None, None
    require((references is None) == (reference_groups is None), "groups and reference_groups go together")
    mine = checked_arrays.as_column(groups, len(embeddings), "groups")
    theirs = (
        None if references is None else checked_arrays.as_column(reference_groups, len(references), "reference_groups")
    )
    both = checked_arrays.coded(mine, theirs)
    if rule == "same_group":
        return both.queries, both.references
    require(classes is not None, "group_rule 'same_class_and_group' needs one label per row")
    assert classes is not None
    n = len(both.names)
    return classes.queries * n + both.queries, classes.references * n + both.references
