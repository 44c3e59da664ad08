"""Re-ranked lists of a view: each query's list changes with what else is in the gallery, so scores are transductive."""

from copy import copy
from typing import Any

import numpy as np

from fairground import evaluation, retrieval
from fairground.evaluation import checked_arrays
from fairground.retrieval import KReciprocal, QueryExpansion, ScoreBonus, normalise_rows, require, squared_lengths

#: a way to re-rank: its name, or the way itself where its numbers differ from those published
Reranking = str | KReciprocal | QueryExpansion
_WAYS: dict[str, Any] = {"k_reciprocal": KReciprocal, "query_expansion": QueryExpansion}


def reranked(view: "evaluation.EmbeddingView", how: Reranking) -> "evaluation.EmbeddingView":
    """Return the view with its lists re-ranked; groups are left out of the lists, not of what re-ranking looks at."""
    way: KReciprocal | QueryExpansion = _WAYS[how]() if isinstance(how, str) else how
    way.check()
    require(view.ball is None, "rerank looks at cosine or Euclidean neighbours; got distance='poincare'")
    found = copy(view)
    found.__dict__.pop("pairing", None)
    found.kept = None
    if isinstance(way, QueryExpansion):
        require(not view.is_raw, "rerank=query_expansion adds up unit vectors: normalise, or rank by cosine")
        found.embeddings, found.references = _expanded_sides(view, way)
    else:
        found.bonus = _bonus(view, way)
    return found


def _unit(view: "evaluation.EmbeddingView", matrix: np.ndarray) -> np.ndarray:
    rows = np.array(matrix, checked_arrays.working_dtype(matrix, exact=view.is_raw), order="C")
    if not view.is_raw:
        normalise_rows(rows)
    return rows


def _lists(
    view: "evaluation.EmbeddingView", rows: np.ndarray, k: int, references: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the `k` nearest of each row, itself left out, and its lowest score."""
    sides = (None, None) if references is None else (references, np.arange(len(references)))
    own = np.arange(len(rows))
    inner = evaluation.EmbeddingView(rows, own, *sides, normalise=not view.is_raw, threads=view.threads)
    inner.device = view.device
    lowest = np.full(len(rows), np.inf, rows.dtype)
    return inner.neighbour_numbers(k, lowest), lowest


def _expanded_sides(view: "evaluation.EmbeddingView", how: QueryExpansion) -> tuple[np.ndarray, np.ndarray | None]:
    rows = _unit(view, view.embeddings)
    theirs = rows if view.references is None else _unit(view, view.references)
    moved = retrieval.expanded(theirs, _lists(view, theirs, how.n)[0], theirs, how)
    if view.references is None:
        return moved, None
    return retrieval.expanded(rows, _lists(view, rows, how.n, theirs)[0], theirs, how), moved


def _bonus(view: "evaluation.EmbeddingView", how: KReciprocal) -> ScoreBonus:
    """Return what is added to similarities: m (1 - weight) (1 - J) / (2 weight), m the query's furthest distance."""
    wanted, matrix, shift = view.relevance, view.embeddings, 0
    queries = view.query_numbers[wanted.query_order]
    if view.references is not None:
        matrix, shift = np.concatenate([view.embeddings, view.references]), len(view.embeddings)
    rows = _unit(view, matrix)
    near, lowest = _lists(view, rows, how.k1)
    lengths = squared_lengths(rows) if view.is_raw else 2 * np.ones(len(rows))
    # A similarity is half of what is missing to the squared length, or to two: see `SearchPlan`.
    furthest = np.where(np.isfinite(lowest), np.maximum(lengths - 2.0 * lowest, 0), 0)
    overlap = retrieval.reciprocal_overlap(near, rows, furthest, how, view.threads)
    here = overlap[queries][:, shift + wanted.reference_order]
    scale = furthest[queries] * (1 - how.weight) / (2 * how.weight)
    here.data = (here.data * np.repeat(scale, np.diff(here.indptr))).astype(rows.dtype)
    return here
