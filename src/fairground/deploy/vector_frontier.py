"""What a model's vectors are worth at fewer dimensions, fewer bits, and re-ranked: score, bytes and time of each.

Half of the classes fit what needs fitting (principal axes, ranges of coordinates), the other half is measured.

Formula
    prefix m       the first m numbers, which a Matryoshka loss has trained to stand alone
    principal m    the m first principal axes
    random m       m coordinates drawn at random
    all of them at unit length again; int8 and binary are those of an index (`quantised_rows.py`)
    int8, ranges   each coordinate from its own [lowest, highest] to -128..127, products of codes, as others do it:
                   offsets and scales differ per coordinate, so that it is not a product of quantised vectors
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from fairground.deploy.index_search import search, search_signs
from fairground.deploy.quantised_rows import SHORTLIST, QuantisedRows, nearest_by_signs, quantise, signs_of
from fairground.evaluation import Bootstrap, BootstrapInterval, EmbeddingView, evaluate_in_detail
from fairground.loading import DataError, require
from fairground.retrieval import ScoreBonus, normalise_rows

METRICS = ("recall@1", "map@r")
RANGES = "int8, ranges"
#: fewer numbers per vector are not tried
LEAST = 8
#: neighbours of a timed query, and queries that are timed
K, N_TIMED = 10, 30
Tell = Callable[[str, int, int], None]


class FrontierPoint(NamedTuple):
    """One way to keep and compare vectors; `bytes_searched` are read for every query, `bytes_stored` are on disk."""

    reduction: str
    dimension: int
    precision: str
    rerank: str
    recall: float
    score: float
    interval: BootstrapInterval
    bytes_searched: int
    bytes_stored: int
    milliseconds: float | None


class RangeScores(NamedTuple):
    """MAP@R of the model's own vectors in floats, in 8 bits by ranges, and with their offsets or scales alone."""

    plain: float
    ranges: float
    offsets: float
    scales: float


class Frontier(NamedTuple):
    """All that was measured, the best of plain float vectors, and the smallest dimension within its interval."""

    points: tuple[FrontierPoint, ...]
    best: FrontierPoint
    smallest: FrontierPoint
    ranges: RangeScores
    n_rows: int
    n_classes: int


def frontier_of(embeddings: np.ndarray, labels: np.ndarray, *, seed: int = 0, tell: Tell = lambda *_: None) -> Frontier:
    """Return the frontier of unit embeddings (n, d): dimensions first, then bits and re-ranking at some."""
    classes = np.unique(labels)
    refusal = f"the frontier fits on half of the classes and measures the others: it needs four; got {len(classes)}"
    require(len(classes) >= 4, refusal, DataError)
    is_fitted = np.isin(labels, classes[: len(classes) // 2])
    fitted, measured, own = _unit(embeddings[is_fitted]), _unit(embeddings[~is_fitted]), labels[~is_fitted]
    width = embeddings.shape[1]
    dimensions = [width]
    while dimensions[-1] // 2 >= LEAST:
        dimensions.append(dimensions[-1] // 2)
    reductions = [(name, m) for m in dimensions for name in ("prefix", "principal", "random")]
    reductions = [one for one in reductions if one != ("random", width)]
    points: list[FrontierPoint] = []
    n_ways = len(reductions) + 18
    for name, m in reductions:
        tell("dimensions", len(points), n_ways)
        rows = _reduced(name, m, fitted, measured, seed)[1]
        points.append(_measured(_Way(name, m, "float32", "none", 4 * m), EmbeddingView(rows, own), rows))
    best = max(points, key=lambda point: point.score)
    near = [point for point in points if point.score >= best.interval.low]
    smallest = min(near, key=lambda point: (point.dimension, -point.score))
    chosen = {(one.reduction, one.dimension): None for one in (best, smallest, points[0])}
    for name, m in chosen:
        for way, view, timed in _precisions(name, m, *_reduced(name, m, fitted, measured, seed), own):
            tell("bits and re-ranking", len(points), n_ways)
            points.append(_measured(way, view, timed))
    ranges = RangeScores(
        *(one.score for one in points if one[:4] in [("prefix", width, how, "none") for how in ("float32", RANGES)]),
        *(
            evaluate_in_detail(_view_of_products(values, own), ["map@r"]).scores["map@r"]
            for values in _parts_of_ranges(fitted, measured)
        ),
    )
    return Frontier(tuple(points), best, smallest, ranges, len(own), len(np.unique(own)))


class _Way(NamedTuple):
    reduction: str
    dimension: int
    precision: str
    rerank: str
    bytes_searched: int
    bytes_more: int = 0


def _unit(rows: np.ndarray) -> np.ndarray:
    rows = np.array(rows, np.float32, order="C")
    normalise_rows(rows)
    return rows


def _reduced(name: str, m: int, fitted: np.ndarray, measured: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both halves in `m` numbers, of unit length."""
    if name == "principal":
        mean = fitted.mean(0, dtype=np.float64)
        axes = np.linalg.eigh(np.cov((fitted - mean).T))[1][:, ::-1][:, :m]
        return _unit((fitted - mean) @ axes), _unit((measured - mean) @ axes)
    kept = np.sort(np.random.default_rng(seed).permutation(fitted.shape[1])[:m]) if name == "random" else slice(m)
    return _unit(fitted[:, kept]), _unit(measured[:, kept])


def _precisions(
    name: str, m: int, fitted: np.ndarray, rows: np.ndarray, labels: np.ndarray
) -> Iterator[tuple[_Way, EmbeddingView, np.ndarray | QuantisedRows | None]]:
    codes, packed = quantise(rows), 8 * -(-m // 64)
    whole = codes[:]
    yield _Way(name, m, "int8", "none", m + 4), EmbeddingView(whole, labels), codes
    low, step = _ranges(fitted)
    by_ranges = np.clip(np.floor((rows - low) / step), 0, 255) - 128
    yield _Way(name, m, RANGES, "none", m), _view_of_products(by_ranges, labels), None
    bits = EmbeddingView(np.where(rows > 0, 1, -1).astype(np.float32), labels)
    yield _Way(name, m, "binary", "none", packed), bits, None
    yield _Way(name, m, "binary, scored by int8", "none", packed, m + 4), _rescored(bits, rows, whole), rows
    for rerank in ("query_expansion", "k_reciprocal"):
        yield _Way(name, m, "float32", rerank, 4 * m), EmbeddingView(rows, labels), None


def _ranges(fitted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest value of each coordinate and the step of its codes."""
    low, high = fitted.min(0), fitted.max(0)
    return low, np.maximum(high - low, 1e-12) / 255


def _parts_of_ranges(fitted: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows less the middle of each range, and rows over its step: what codes by ranges change, by itself."""
    low, step = _ranges(fitted)
    return rows - (low + 128 * step), rows / step


def _view_of_products(values: np.ndarray, labels: np.ndarray) -> EmbeddingView:
    # A coordinate more makes all references as long, so that the order of cosines is that of products.
    squares = (values**2).sum(1, keepdims=True)
    queries, references = np.zeros((len(values), 1)), np.sqrt(np.maximum(squares.max() - squares, 0))
    numbers = np.arange(len(values))
    sides = [np.hstack([values, more]).astype(np.float32) for more in (queries, references)]
    return EmbeddingView(sides[0], labels, sides[1], labels, groups=numbers, reference_groups=numbers)


def _rescored(view: EmbeddingView, rows: np.ndarray, whole: np.ndarray) -> EmbeddingView:
    """Return lists by signs whose first `SHORTLIST` * `K` are in order of the products with int8 rows."""
    n = min(SHORTLIST * K + 1, len(rows))
    found, order = EmbeddingView(view.embeddings, view.row_classes), view.relevance.reference_order
    near = nearest_by_signs(rows, signs_of(rows), n, np.empty(0, np.int64))[view.relevance.query_order]
    mine = view.relevance.query_order
    by_signs = np.einsum("qd,qkd->qk", found.embeddings[mine], found.embeddings[near]) / rows.shape[1]
    values = np.einsum("qd,qkd->qk", rows[mine], whole[near]) - by_signs + 3
    places = np.argsort(order)[near]
    sorted_places = np.argsort(places, axis=1)
    columns, values = (np.take_along_axis(one, sorted_places, 1).ravel() for one in (places, values))
    found.bonus = ScoreBonus(np.arange(0, len(columns) + 1, n), columns, values.astype(np.float32))
    return found


def _measured(way: _Way, view: EmbeddingView, rows: np.ndarray | QuantisedRows | None) -> FrontierPoint:
    names = [name + ("" if way.rerank == "none" else f"+{way.rerank}") for name in METRICS]
    found = evaluate_in_detail(view, names, bootstrap=Bootstrap())
    recall, score = (found.scores[name] for name in names)
    return FrontierPoint(
        reduction=way.reduction,
        dimension=way.dimension,
        precision=way.precision,
        rerank=way.rerank,
        recall=recall,
        score=score,
        interval=found.intervals[names[1]],
        bytes_searched=way.bytes_searched,
        bytes_stored=way.bytes_searched + way.bytes_more,
        milliseconds=None if rows is None else _milliseconds(way, rows),
    )


def _milliseconds(way: _Way, rows: np.ndarray | QuantisedRows) -> float:
    """Return the median time of a query by itself that searches all rows."""
    removed, k, times = np.empty(0, np.int64), min(K, len(rows)), []
    signs = signs_of(rows[:]) if way.precision.startswith("binary") else None
    codes = rows if signs is None else quantise(rows[:])
    for query in np.linspace(0, len(rows) - 1, N_TIMED).astype(np.int64):
        one, begun = rows[query : query + 1], time.perf_counter()
        if signs is None:
            search(one, codes, k, threads=1)
        else:
            search_signs(one, codes, signs, k, min(SHORTLIST * K, len(rows)), removed)
        times.append(time.perf_counter() - begun)
    return 1000 * float(np.median(times))
