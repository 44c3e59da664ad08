"""EmbeddingView: one set of embeddings, and everything metrics and analyses need of it, each computed once.

It also has the rules of retrieval: which distance, which pairs are left out.
"""

import os
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch

from fairground import evaluation, retrieval
from fairground.contracts import Contingency, DataError, OpenSet, Ranking, Verification, require, require_tree
from fairground.evaluation import checked_arrays, reranking
from fairground.evaluation import relevant_references as relevant
from fairground.functional import normalize, singular_values
from fairground.retrieval import SearchPlan, Tiles, edge_for, find_duplicate_rows, neighbours, normalise_rows, ranks
from fairground.retrieval.contingency import contingency

Distance = Literal["cosine", "euclidean", "poincare"]
#: relevant pairs held at once; more are worked through in blocks of queries (about 200 MB at most)
LIMIT = 2**22
#: genuine pairs a verification curve may have (about 700 MB)
GENUINE_LIMIT = 2**25
BLOCK_ROWS = 4096


class Curve(NamedTuple):
    """A verification curve, and for each genuine pair its place on it and the query it belongs to.

    `similarities` are those of the curve's places: cosines, minus half squared distances of raw embeddings, or minus
    cosh(sqrt(c) D) + 1 of distances D in a Poincaré ball.
    """

    verification: Verification
    place: np.ndarray
    query: np.ndarray
    similarities: np.ndarray


class EmbeddingView:
    """Embeddings (n, d) with labels, searched in themselves or in `references`.

    On unit vectors (`normalise`) Euclidean and cosine order are one; `distance="cosine"` on raw vectors ranks by angle,
    and `"poincare"` or a `Poincare` with other numbers by the distance of raw vectors in that ball.
    `query_rows` makes only those rows queries, against all rows. Pairs of one group (a camera, a sequence) are left
    out: all of them, or with `same_class_and_group` only those of one class, as person re-identification does.
    `relevance` says how much a row is worth to a query: a function of their rows, or a rule on labels. Sets of labels
    are relevant if they share one (`any`), graded by `query_share` or `jaccard`, or relevant if they are the `same`.
    With `levels`, labels are (n, L), the class first and then ever wider super-classes: a class is what a query should
    find, and graded metrics count the share of levels. `n_clusters` (the number of classes by
    default) and `seed` are those of k-means, which is started from `clustering_seeds` seeds in turn. `threads` and
    `block` (relevant pairs at once) decide time and memory, never a result.
    """

    def __init__(
        self,
        embeddings: checked_arrays.Embeddings,
        labels: checked_arrays.Labels | None = None,
        references: checked_arrays.Embeddings | None = None,
        reference_labels: checked_arrays.Labels | None = None,
        *,
        distance: Distance | retrieval.Poincare = "euclidean",
        normalise: bool = True,
        query_rows: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        reference_groups: np.ndarray | None = None,
        group_rule: relevant.GroupRule = "same_group",
        relevance: relevant.RelevanceFunction | relevant.RelevanceRule | None = None,
        n_clusters: int | None = None,
        seed: int = 1234,
        clustering_seeds: int = 1,
        threads: int | None = None,
        block: int | None = None,
    ) -> None:
        asked = retrieval.Poincare() if distance == "poincare" else distance
        self.ball = asked if isinstance(asked, retrieval.Poincare) else None
        is_known = self.ball is not None or distance in ("cosine", "euclidean")
        require(is_known, f"distance must be 'cosine', 'euclidean' or 'poincare'; got '{distance}'")
        if self.ball is not None:
            self.ball.check()
            require(not normalise, "distance='poincare' compares raw vectors: say normalise=False (--raw)")
        self.embeddings = checked_arrays.as_matrix(embeddings)
        #: where embeddings on an accelerator are ranked; the rest is computed in main memory
        self.device = embeddings.device if isinstance(embeddings, torch.Tensor) and not embeddings.is_cpu else None
        self.references = None if references is None else checked_arrays.as_matrix(references, "references")
        require(labels is not None or relevance is not None, "labels are missing: give labels or a relevance function")
        if self.references is None:
            require(reference_labels is None, "reference_labels were given without references")
        else:
            require(query_rows is None, "query_rows picks queries out of one set; it cannot go with references")
            require(reference_labels is not None or relevance is not None, "references need reference_labels")
        width, other = self.embeddings.shape[1], self._searched.shape[1]
        require(width == other, f"embeddings have {width} dimensions but references have {other}", DataError)
        self.normalise = normalise
        self.is_raw = distance == "euclidean" and not normalise
        self.query_rows = checked_arrays.row_numbers(query_rows, len(self.embeddings))
        self.n_rows = len(self.embeddings)
        self.query_numbers = np.arange(self.n_rows) if self.query_rows is None else self.query_rows
        self.n_queries = len(self.query_numbers)
        self.n_clusters, self.seed, self.clustering_seeds = n_clusters, seed, clustering_seeds
        self.threads = threads if threads is not None else min(torch.get_num_threads(), os.cpu_count() or 1)
        self.block = block or LIMIT
        require(clustering_seeds >= 1, f"clustering_seeds must be at least 1; got {clustering_seeds}")
        require(self.threads >= 1, f"threads must be at least 1; got {threads}")
        self._labels, self._relevance = (labels, reference_labels), relevance
        self._levels: tuple[np.ndarray, np.ndarray] | None = None
        if isinstance(relevance, str):
            self._take_rule(relevance)
        self._groups = (groups, reference_groups, group_rule)
        self.kept: ranks.Ranked | None = None
        self.bonus: retrieval.ScoreBonus | None = None
        self._reranked: dict[reranking.Reranking, EmbeddingView] = {}

    @property
    def _searched(self) -> np.ndarray:
        return self.embeddings if self.references is None else self.references

    def reranked(self, how: "reranking.Reranking") -> "EmbeddingView":
        """Return this view with its lists re-ranked, which is computed once: `k_reciprocal` or `query_expansion`."""
        if how not in self._reranked:
            self._reranked[how] = reranking.reranked(self, how)
        return self._reranked[how]

    def _take_rule(self, rule: str) -> None:
        rules = get_args(relevant.RelevanceRule)
        require(rule in rules, f"relevance must be one of {', '.join(rules)}, or a function; got '{rule}'")
        if rule != "levels":
            is_set = checked_arrays.is_multi_label(self._labels[0])
            require(is_set, f"relevance='{rule}' needs a set of labels per row; got one label", DataError)
            return
        sides = [np.asarray(side) for side in self._labels if side is not None]
        is_right = all(side.ndim == 2 and side.shape[1] == sides[0].shape[1] for side in sides)
        got = " and ".join(str(side.shape) for side in sides)
        require(is_right, f"relevance='levels' needs labels (n, L), one column per level; got shape {got}", DataError)
        # Numbers per level, the same for queries and references.
        both = np.concatenate(sides)
        codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in both.T])
        require_tree(codes)
        self._levels = codes[: self.n_rows], codes[self.n_rows if len(sides) == 2 else 0 :]
        self._labels = (sides[0][:, 0], sides[1][:, 0] if len(sides) == 2 else None)

    @cached_property
    def graded(self) -> "EmbeddingView":
        """The view whose ranking has grades: this one, or with levels one where all of the widest class is relevant."""
        if self._levels is None or self._relevance != "levels":
            return self
        view = copy(self)
        for name in ("classes", "relevance", "pairing"):
            vars(view).pop(name, None)
        view._reranked = {}
        # Pairs of one class and group are left out by the narrowest class.
        vars(view)["groups"] = self.groups
        mine, theirs = (side[:, -1] for side in self._levels)
        view._labels, view._relevance, view.kept = (mine, None if self.references is None else theirs), None, None
        return view

    @cached_property
    def classes(self) -> checked_arrays.Coded | None:
        """Class numbers of all rows and of the references; None where rows have sets of labels or none."""
        labels, theirs = self._labels
        are_sets = labels is not None and checked_arrays.is_multi_label(labels)
        is_alike = labels is None or self.references is None or are_sets == checked_arrays.is_multi_label(theirs)
        refusal = "labels and reference_labels must both be one label per row or both be sets"
        require(is_alike, refusal, DataError)
        return None if labels is None or are_sets else self._coded(labels, theirs, "labels")

    def _coded(self, mine: object, theirs: object, what: str) -> checked_arrays.Coded:
        column, others = checked_arrays.as_column(mine, self.n_rows, what), None
        if self.references is not None:
            others = checked_arrays.as_column(theirs, len(self.references), f"reference_{what}")
        return checked_arrays.coded(column, others)

    @property
    def _one_class_each(self) -> checked_arrays.Coded:
        if self.classes is None:
            raise DataError("this needs one label per row; got sets of labels or none")
        return self.classes

    @property
    def row_classes(self) -> np.ndarray:
        return self._one_class_each.queries

    @cached_property
    def query_labels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Each label of each query: the query, the label's number, and the labels' names; None without labels."""
        if self.classes is not None:
            return np.arange(self.n_queries), self.classes.queries[self.query_numbers], self.classes.names
        if self._labels[0] is None:
            return None
        sets = checked_arrays.as_label_sets(self._labels[0], self.n_rows)
        mine = [sets[row] for row in self.query_numbers]
        names = sorted(frozenset[Any]().union(*mine), key=lambda name: (str(type(name)), name))
        number = {name: place for place, name in enumerate(names)}
        queries = np.repeat(np.arange(len(mine)), [len(labels) for labels in mine])
        return (
            queries,
            np.array([number[label] for labels in mine for label in sorted(labels)], np.int64),
            np.array(names),
        )

    @property
    def query_classes(self) -> np.ndarray | None:
        """Class number of each query; None where rows have sets of labels or none."""
        return None if self.classes is None else self.classes.queries[self.query_numbers]

    @cached_property
    def groups(self) -> relevant.Groups | None:
        """Numbers of queries and references: pairs with equal ones are left out."""
        groups, theirs, rule = self._groups
        rules = ("same_group", "same_class_and_group")
        require(rule in rules, f"group_rule must be one of {', '.join(rules)}; got '{rule}'")
        if groups is None:
            require(theirs is None, "reference_groups were given without groups")
            return None
        require((self.references is None) == (theirs is None), "groups and reference_groups go together")
        mine, others, names = self._coded(groups, theirs, "groups")
        if rule == "same_class_and_group":
            mine = self._one_class_each.queries * len(names) + mine
            others = self._one_class_each.references * len(names) + others
        return mine[self.query_numbers], others

    @cached_property
    def relevance(self) -> relevant.Relevance:
        """Which references each query should find: as the function says if there is one, else by their labels."""
        rows, n_references = self.query_numbers, len(self._searched)
        own = rows if self.references is None else np.full(len(rows), -1)
        if callable(self._relevance):
            lists = relevant.lists_from_function(self._relevance, rows, n_references)
        elif self.classes is not None:
            levels = None if self._levels is None or self._relevance else (self._levels[0][rows], self._levels[1])
            return relevant.SameClass(self.classes.queries[rows], self.classes.references, own, self.groups, levels)
        else:
            mine = theirs = checked_arrays.as_label_sets(self._labels[0], self.n_rows)
            if self.references is not None:
                theirs = checked_arrays.as_label_sets(self._labels[1], n_references, "reference_labels")
            lists = relevant.lists_from_sets([mine[row] for row in rows], theirs, self._relevance)
        return relevant.Listed(lists, n_references, own, self.groups)

    @cached_property
    def pairing(self) -> SearchPlan:
        """Queries and references in search order, as tiles of unit vectors, raw ones, or points of a hyperboloid."""
        wanted, theirs = self.relevance, self._searched
        rows = self.query_numbers[wanted.query_order]
        is_one_set = self.references is None and self.query_rows is None
        is_exact = self.is_raw or self.ball is not None
        dtype = checked_arrays.working_dtype(self.embeddings, theirs, exact=is_exact)
        scale = self.ball.place if self.ball is not None else None if self.is_raw else normalise_rows
        edge = edge_for(len(rows), len(theirs))

        def tiled(matrix: np.ndarray, index: np.ndarray) -> Tiles:
            tiles = Tiles(matrix, index.astype(np.int32), edge, dtype, scale)
            # A memory-mapped file may be larger than memory: its tiles are read when they are needed.
            return tiles if isinstance(matrix, np.memmap) else tiles.in_memory()

        references = tiled(theirs, wanted.reference_order)
        queries = references if is_one_set else tiled(self.embeddings, rows)
        return SearchPlan(
            queries=queries,
            references=references,
            is_one_set=is_one_set,
            own=wanted.own,
            half_lengths=self._lengths(references),
            query_half_lengths=None if self.ball is None else self._lengths(queries),
            is_hyperbolic=self.ball is not None,
            groups=wanted.groups,
            duplicates=find_duplicate_rows(queries, references),
            bonus=self.bonus,
        )

    def _lengths(self, side: Tiles) -> np.ndarray | None:
        if self.ball is not None:
            return retrieval.heights(2 * side.half_squared_lengths())
        return side.half_squared_lengths() if self.is_raw else None

    def _pairing_on_device(self, device: torch.device) -> "retrieval.DeviceSearchPlan | None":
        """Return queries and references in search order on a device; None for balls, or where it lacks the numbers."""
        wanted, theirs = self.relevance, self._searched
        is_wide = checked_arrays.working_dtype(self.embeddings, theirs, exact=self.is_raw) == np.float64
        if self.ball is not None or (is_wide and not retrieval.has_float64(device)):
            return None

        def moved(values: np.ndarray) -> torch.Tensor:
            return torch.as_tensor(values, device=device)

        def in_order(matrix: np.ndarray, order: np.ndarray) -> torch.Tensor:
            side = moved(matrix)[moved(order)].to(torch.float64 if is_wide else torch.float32)
            return side if self.is_raw else normalize(side)

        # Equal rows must score equally, which a product does not promise: each distinct row is multiplied once.
        distinct, kind = torch.unique(in_order(theirs, wanted.reference_order), dim=0, return_inverse=True)
        return retrieval.DeviceSearchPlan(
            queries=in_order(self.embeddings, self.query_numbers[wanted.query_order]),
            references=distinct,
            kind=kind,
            numbers=moved(wanted.reference_order),
            own=moved(wanted.own),
            half_lengths=distinct.square().sum(1) / 2 if self.is_raw else None,
            groups=None if wanted.groups is None else (moved(wanted.groups[0]), moved(wanted.groups[1])),
            bonus=self.bonus,
        )

    def rankings(self) -> Iterator[tuple[np.ndarray, Ranking]]:
        """Yield blocks of query rows and their ranking; a ranking that fits in one block is computed once and kept."""
        is_small = int(self.relevance.n_relevant.sum()) <= self.block
        if is_small and self.kept is None:
            self.kept = next(self._fresh_rankings())
        for ranked in [self.kept] if self.kept is not None else self._fresh_rankings():
            stop = ranked.start + len(ranked.offsets) - 1
            rows = self.relevance.query_order[ranked.start : stop]
            class_sizes = np.diff(ranked.offsets) + (self.relevance.own[ranked.start : stop] >= 0)
            yield (
                rows,
                Ranking(
                    offsets=ranked.offsets,
                    ranks=ranked.ranks,
                    class_sizes=class_sizes,
                    grades=ranked.grades,
                    n_levels=self.relevance.n_levels,
                ),
            )

    def _fresh_rankings(self) -> Iterator[ranks.Ranked]:
        wanted = self.relevance
        spans = ranks.blocks(wanted.n_relevant, self.block)
        on_device = None if self.device is None else self._pairing_on_device(self.device)
        if on_device is not None:
            return (retrieval.rank_on_device(on_device, wanted.lists(*span)) for span in spans)
        return (ranks.rank(self.pairing, wanted.lists(*span), threads=self.threads) for span in spans)

    @cached_property
    def clusterings(self) -> "tuple[retrieval.Clusters, ...]":
        from fairground.retrieval.kmeans import kmeans

        points = np.concatenate(list(self.row_blocks()))
        n_clusters = self.n_clusters or int(self.row_classes.max()) + 1
        # faiss seeds its own draw with seed + 1, and draws as torch does: one seed gives the same start in both.
        starts = [torch.Generator().manual_seed(self.seed + 1 + i) for i in range(self.clustering_seeds)]
        threads, device = self.threads, self.device
        return tuple(kmeans(points, n_clusters, generator=one, threads=threads, device=device) for one in starts)

    @cached_property
    def contingencies(self) -> tuple[Contingency, ...]:
        return tuple(contingency(self.row_classes, clusters.assignment) for clusters in self.clusterings)

    @cached_property
    def curve(self) -> Curve:
        wanted, pairing = self.relevance, self.pairing
        total = int(wanted.n_relevant.sum())
        require(total > 0, "verification needs two rows of one class; every class has a single one", DataError)
        refusal = f"verification would hold {total} genuine pairs, more than {GENUINE_LIMIT}"
        require(total <= GENUINE_LIMIT, f"{refusal}: take fewer with query_rows")
        if self.is_raw:
            pairing = replace(pairing, query_half_lengths=pairing.queries.half_squared_lengths())
        stretches = [wanted.lists(*span) for span in ranks.blocks(wanted.n_relevant, self.block)]
        scores = np.concatenate([ranks.relevant_scores(pairing, some, threads=self.threads) for some in stretches])
        genuine, place, count = np.unique(scores, return_inverse=True, return_counts=True)
        standing = retrieval.count_pairs(pairing, genuine, threads=self.threads)
        n_impostors = standing.n_pairs - total
        require(n_impostors > 0, "verification needs pairs of different classes; there is one class only", DataError)
        verification = Verification(
            genuine=count,
            impostors_above=standing.above - (total - np.cumsum(count)),
            impostors_equal=standing.equal - count,
            n_impostors=n_impostors,
        )
        return Curve(verification, place, np.repeat(wanted.query_order, wanted.n_relevant), genuine)

    @cached_property
    def open_set(self) -> OpenSet:
        """The best similarity of every query with and without its own class among the references.

        Where references of their own lack the class of some queries, these are the unknown ones.
        """
        mine = self.row_classes[self.query_numbers]
        order, plan = self.relevance.query_order, self.pairing
        if self.is_raw:
            plan = replace(plan, query_half_lengths=plan.queries.half_squared_lengths())
        theirs = self._one_class_each.references[self.relevance.reference_order]
        best = neighbours.best_by_class(plan, mine[order], theirs, threads=self.threads)
        own, other = np.empty((2, self.n_queries))
        own[order], other[order] = best
        require(bool(np.isfinite(own).any()), "open-set metrics need two rows of one class", DataError)
        require(bool(np.isfinite(other).all()), "open-set metrics need references of another class", DataError)
        has_strangers = self.references is not None and not np.isfinite(own).all()
        return OpenSet(own=own, other=other, weights=np.ones(self.n_queries), has_strangers=has_strangers)

    @cached_property
    def pairs_by_class(self) -> "evaluation.PairsByClass":
        return evaluation.PairsByClass(self)

    @cached_property
    def singular_values(self) -> np.ndarray:
        """The singular values of all rows, not centred, descending."""
        return singular_values(self.row_blocks(), self.device)

    def neighbour_numbers(self, k: int, lowest: np.ndarray | None = None) -> np.ndarray:
        """Return the references (n_queries, k) nearest to each query, nearest first; -1 where there are fewer.

        `lowest` (n_queries,), infinite at first, is lowered to the lowest score of each query, in search order.
        """
        found = np.empty((self.n_queries, k), np.int32)
        on_device = None if self.device is None else self._pairing_on_device(self.device)
        if on_device is None:
            found[self.relevance.query_order] = neighbours.nearest(self.pairing, k, threads=self.threads, lowest=lowest)
        else:
            found[self.relevance.query_order] = retrieval.nearest_on_device(on_device, k, lowest)
        return found

    def row_blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows in order, unit length if `normalise`, in blocks of bounded size."""
        for begin in range(0, self.n_rows, BLOCK_ROWS):
            dtype = checked_arrays.working_dtype(self.embeddings, exact=False)
            yield self._some_rows(slice(begin, begin + BLOCK_ROWS), dtype)

    def rows(self, which: np.ndarray) -> np.ndarray:
        return self._some_rows(which, np.dtype(np.float64))

    def _some_rows(self, which: slice | np.ndarray, dtype: np.dtype) -> np.ndarray:
        block = np.array(self.embeddings[which], dtype=dtype, order="C")
        if self.normalise:
            normalise_rows(block)
        return block
