"""EmbeddingView: one set of embeddings, and everything metrics and analyses want to know of it, each computed once.

Ranks, clusters, verification counts and spectra are made when first asked for and kept; large intermediate results are
passed on in blocks instead. The view holds the rules of retrieval too: which distance, which pairs are left out.
"""

import os
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.metric import Ranking
from fairground.errors import DataError, InputError, require
from fairground.evaluation import inputs
from fairground.evaluation.relevance import (
    Listed,
    Relevance,
    RelevanceFunction,
    SameClass,
    lists_from_function,
    lists_from_sets,
)
from fairground.geometry.pairing import Pairing
from fairground.geometry.ranks import Ranked, rank_blocks
from fairground.geometry.tiles import Tiles, edge_for

Distance = Literal["cosine", "euclidean"]
GroupRule = Literal["same_group", "same_class_and_group"]
#: relevant pairs held at once; more are worked through in blocks of queries (about 200 MB at most)
LIMIT = 2**22


class RankingBlock(NamedTuple):
    """The ranking of some queries; `rows` says which."""

    rows: np.ndarray
    ranking: Ranking


class EmbeddingView:
    """Embeddings (n, d) with labels, searched in themselves or in `references`.

    `query_rows` makes only those rows queries, against all rows. Pairs of one group (a camera, a sequence) are left
    out: all of them, or with `same_class_and_group` only those of one class, as person re-identification does.
    `relevance` overrides labels as the judge of what a query should find. `threads` and `block` (relevant pairs at
    once) decide time and memory, never a result.
    """

    def __init__(
        self,
        embeddings: inputs.Embeddings,
        labels: inputs.Labels | None = None,
        references: inputs.Embeddings | None = None,
        reference_labels: inputs.Labels | None = None,
        *,
        distance: Distance = "euclidean",
        normalise: bool = True,
        query_rows: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        reference_groups: np.ndarray | None = None,
        group_rule: GroupRule = "same_group",
        relevance: RelevanceFunction | None = None,
        threads: int | None = None,
        block: int | None = None,
    ) -> None:
        require(distance in ("cosine", "euclidean"), f"distance must be 'cosine' or 'euclidean'; got '{distance}'")
        self.embeddings = inputs.as_matrix(embeddings)
        self.references = None if references is None else inputs.as_matrix(references, "references")
        self._check_sides(query_rows, labels, reference_labels, relevance)
        self.distance = distance
        self.normalise = normalise
        self.query_rows = _row_numbers(query_rows, len(self.embeddings))
        self.threads = threads if threads is not None else min(torch.get_num_threads(), os.cpu_count() or 1)
        self.block = block or LIMIT
        require(self.threads >= 1, f"threads must be at least 1; got {threads}")
        require(self.block >= 1, f"block must be at least 1; got {block}")
        self._labels = labels
        self._reference_labels = reference_labels
        self._relevance = relevance
        self._group_rule = group_rule
        self._groups = self._coded_groups(groups, reference_groups)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.embeddings) if self.query_rows is None else len(self.query_rows)

    @property
    def n_references(self) -> int:
        """The number of references."""
        return len(self.embeddings) if self.references is None else len(self.references)

    @cached_property
    def classes(self) -> inputs.Coded | None:
        """Class numbers of all rows and of the references; None where rows have sets of labels or none."""
        if self._labels is None or inputs.is_multi_label(self._labels):
            return None
        of_rows = inputs.as_column(self._labels, len(self.embeddings), "labels")
        if self.references is None:
            return inputs.coded(of_rows, None)
        of_references = inputs.as_column(self._reference_labels, self.n_references, "reference_labels")
        return inputs.coded(of_rows, of_references)

    @property
    def query_classes(self) -> np.ndarray | None:
        """Class number of each query."""
        if self.classes is None:
            return None
        return self.classes.queries if self.query_rows is None else self.classes.queries[self.query_rows]

    @cached_property
    def relevance(self) -> Relevance:
        """Which references each query should find."""
        rows = np.arange(len(self.embeddings)) if self.query_rows is None else self.query_rows
        own = rows if self.references is None else None
        n_references = self.n_references
        if self._relevance is not None:
            lists = lists_from_function(self._relevance, rows, n_references)
        elif self.classes is None:
            sets = inputs.as_label_sets(self._labels, len(self.embeddings))
            theirs = sets if own is not None else inputs.as_label_sets(self._reference_labels, n_references)
            lists = lists_from_sets([sets[row] for row in rows], theirs)
        else:
            assert self.query_classes is not None
            return SameClass(self.query_classes, self.classes.references, own, *self._query_and_reference_groups())
        return Listed(lists, self.n_queries, n_references, own, *self._query_and_reference_groups())

    @cached_property
    def pairing(self) -> Pairing:
        """Queries and references in search order, with the rules of their comparison."""
        relevance = self.relevance
        theirs = self.embeddings if self.references is None else self.references
        rows = relevance.query_order if self.query_rows is None else self.query_rows[relevance.query_order]
        is_one_set = self.references is None and self.query_rows is None
        is_raw = self.distance == "euclidean" and not self.normalise
        dtype = inputs.working_dtype(self.embeddings, theirs, exact=is_raw)
        edge = edge_for(len(rows), len(theirs))
        references = _tiles(theirs, relevance.reference_order, edge, dtype, not is_raw)
        queries = references if is_one_set else _tiles(self.embeddings, rows, edge, dtype, not is_raw)
        mine, other = self._query_and_reference_groups()
        return Pairing(
            queries=queries,
            references=references,
            is_one_set=is_one_set,
            own=relevance.own,
            half_lengths=references.half_squared_lengths() if is_raw else None,
            query_groups=None if mine is None else mine[relevance.query_order],
            reference_groups=None if other is None else other[relevance.reference_order],
        )

    def rankings(self) -> Iterator[RankingBlock]:
        """Yield the ranking of all queries in blocks; a ranking small enough to be kept is made only once."""
        for ranked in self._ranked_blocks():
            stop = ranked.start + len(ranked.offsets) - 1
            rows = self.relevance.query_order[ranked.start : stop]
            class_sizes = np.diff(ranked.offsets) + (self.relevance.own[ranked.start : stop] >= 0)
            yield RankingBlock(rows, Ranking(offsets=ranked.offsets, ranks=ranked.ranks, class_sizes=class_sizes))

    @cached_property
    def _kept(self) -> Ranked:
        return next(self._fresh_blocks())

    def _ranked_blocks(self) -> Iterator[Ranked]:
        if int(self.relevance.n_relevant.sum()) <= self.block:
            yield self._kept
        else:
            yield from self._fresh_blocks()

    def _fresh_blocks(self) -> Iterator[Ranked]:
        relevance = self.relevance
        return rank_blocks(self.pairing, relevance.n_relevant, relevance.lists, threads=self.threads, limit=self.block)

    def _check_sides(
        self,
        query_rows: np.ndarray | None,
        labels: inputs.Labels | None,
        reference_labels: inputs.Labels | None,
        relevance: RelevanceFunction | None,
    ) -> None:
        require(labels is not None or relevance is not None, "labels are missing: give labels or a relevance function")
        if self.references is None:
            require(reference_labels is None, "reference_labels were given without references")
            return
        require(query_rows is None, "query_rows picks queries out of one set; it cannot go with references")
        require(reference_labels is not None or relevance is not None, "references need reference_labels")
        width, other = self.embeddings.shape[1], self.references.shape[1]
        require(width == other, f"embeddings have {width} dimensions but references have {other}", DataError)

    def _coded_groups(
        self, groups: np.ndarray | None, reference_groups: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        rules = ("same_group", "same_class_and_group")
        require(self._group_rule in rules, f"group_rule must be one of {rules}; got '{self._group_rule}'")
        if groups is None:
            require(reference_groups is None, "reference_groups were given without groups")
            return None
        require((self.references is None) == (reference_groups is None), "references need reference_groups")
        mine = inputs.as_column(groups, len(self.embeddings), "groups")
        theirs = None
        if reference_groups is not None:
            theirs = inputs.as_column(reference_groups, self.n_references, "reference_groups")
        both = inputs.coded(mine, theirs)
        if self._group_rule == "same_group":
            return both.queries, both.references
        require(self.classes is not None, "group_rule 'same_class_and_group' needs one label a row")
        assert self.classes is not None
        n = len(both.names)
        return self.classes.queries * n + both.queries, self.classes.references * n + both.references

    def _query_and_reference_groups(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        if self._groups is None:
            return None, None
        mine, theirs = self._groups
        return (mine if self.query_rows is None else mine[self.query_rows]), theirs


def _row_numbers(rows: np.ndarray | None, n: int) -> np.ndarray | None:
    if rows is None:
        return None
    chosen = np.asarray(rows)
    is_right = chosen.ndim == 1 and chosen.dtype.kind in "iu" and len(chosen) > 0
    require(is_right and chosen.min() >= 0 and chosen.max() < n, f"query_rows must be row numbers in 0..{n - 1}")
    return chosen


def _tiles(matrix: inputs.Embeddings, index: np.ndarray, edge: int, dtype: np.dtype, is_unit: bool) -> Tiles:
    if isinstance(matrix, Tensor):
        raise InputError("tensors on another device are ranked there")
    tiles = Tiles(matrix, index.astype(np.int32), edge, dtype, is_unit)
    return tiles if isinstance(matrix, np.memmap) else tiles.in_memory()
