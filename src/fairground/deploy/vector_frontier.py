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

from fairground.deploy import SHORTLIST, QuantisedRows, nearest_by_signs, quantise, search, search_signs, signs_of
from fairground.evaluation import Bootstrap, BootstrapInterval, EmbeddingView, evaluate_in_detail
from fairground.loading import DataError, require
from fairground.losses.matryoshka import halved
from fairground.retrieval import ScoreBonus, normalise_rows

METRICS = ("recall@1", "map@r")
RANGES = "int8, ranges"
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


class Frontier(NamedTuple):
    """All that was measured, the best of plain float vectors, and the smallest dimension within its interval."""

    points: tuple[FrontierPoint, ...]
    best: FrontierPoint
    smallest: FrontierPoint
    #: MAP@R of the model's own vectors less the middle of each range alone, and over the step of each range alone
    without_offsets: float
    without_scales: float
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
    reductions = [(name, m) for m in halved(width) for name in ("prefix", "principal", "random")]
    reductions.remove(("random", width))
    points: list[FrontierPoint] = []
    n_ways = len(reductions) + 18
    for name, m in reductions:
        tell("dimensions", len(points), n_ways)
        rows = _reduced(name, m, fitted, measured, seed)[1]
        way = (name, m, "float32", "none")
        points.append(_point(way, EmbeddingView(rows, own), (4 * m, 4 * m), _milliseconds(rows, rows)))
    best = max(points, key=lambda point: point.score)
    near = [point for point in points if point.score >= best.interval.low]
    smallest = min(near, key=lambda point: (point.dimension, -point.score))
    for name, m in dict.fromkeys(one[:2] for one in (best, smallest, points[0])):
        for point in _in_fewer_bits(name, m, *_reduced(name, m, fitted, measured, seed), own):
            points.append(point)
            tell("bits and re-ranking", len(points), n_ways)
    low, step = _ranges(fitted)
    # What codes by ranges change, by itself: rows less the middle of each range, and rows over its step.
    alone = (_view_of_products(values, own) for values in (measured - (low + 128 * step), measured / step))
    offsets, scales = (evaluate_in_detail(view, ["map@r"]).scores["map@r"] for view in alone)
    return Frontier(tuple(points), best, smallest, offsets, scales, len(own), len(np.unique(own)))


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


def _in_fewer_bits(
    name: str, m: int, fitted: np.ndarray, rows: np.ndarray, labels: np.ndarray
) -> Iterator[FrontierPoint]:
    codes, signs, plain = quantise(rows), signs_of(rows), EmbeddingView(rows, labels)
    bits, packed = np.where(rows > 0, 1, -1).astype(np.float32), signs.nbytes // len(rows)
    low, step = _ranges(fitted)
    by_ranges = _view_of_products(np.clip(np.floor((rows - low) / step), 0, 255) - 128, labels)
    int8, rescored = EmbeddingView(codes[:], labels), _rescored(bits, rows, codes[:], labels)
    yield _point((name, m, "int8", "none"), int8, (m + 4, m + 4), _milliseconds(rows, codes))
    yield _point((name, m, RANGES, "none"), by_ranges, (m, m))
    yield _point((name, m, "binary", "none"), EmbeddingView(bits, labels), (packed, packed))
    sizes = packed, packed + m + 4
    yield _point((name, m, "binary, scored by int8", "none"), rescored, sizes, _milliseconds(rows, codes, signs))
    for rerank in ("query_expansion", "k_reciprocal"):
        yield _point((name, m, "float32", rerank), plain, (4 * m, 4 * m))


def _ranges(fitted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest value of each coordinate and the step of its codes."""
    low, high = fitted.min(0), fitted.max(0)
    return low, np.maximum(high - low, 1e-12) / 255


def _view_of_products(values: np.ndarray, labels: np.ndarray) -> EmbeddingView:
    # A coordinate more makes all references as long, so that the order of cosines is that of products.
    squares = (values**2).sum(1, keepdims=True)
    queries, references = np.zeros((len(values), 1)), np.sqrt(np.maximum(squares.max() - squares, 0))
    numbers = np.arange(len(values))
    sides = [np.hstack([values, more]).astype(np.float32) for more in (queries, references)]
    return EmbeddingView(sides[0], labels, sides[1], labels, groups=numbers, reference_groups=numbers)


def _rescored(bits: np.ndarray, rows: np.ndarray, whole: np.ndarray, labels: np.ndarray) -> EmbeddingView:
    """Return lists by signs whose first `SHORTLIST` * `K` are in order of the products with int8 rows."""
    n, found = min(SHORTLIST * K + 1, len(rows)), EmbeddingView(bits, labels)
    mine, order = found.relevance.query_order, found.relevance.reference_order
    near = nearest_by_signs(rows[mine], signs_of(rows), n, np.empty(0, np.int64))
    places = np.sort(np.argsort(order)[near], axis=1)
    near = order[places]
    by_signs = np.einsum("qd,qkd->qk", bits[mine], bits[near]) / rows.shape[1]
    values = np.einsum("qd,qkd->qk", rows[mine], whole[near]) - by_signs + 3
    found.bonus = ScoreBonus((values.ravel().astype(np.float32), places.ravel(), np.arange(0, places.size + 1, n)))
    return found


def _point(
    way: tuple[str, int, str, str], view: EmbeddingView, n_bytes: tuple[int, int], milliseconds: float | None = None
) -> FrontierPoint:
    names = [name if way[3] == "none" else f"{name}+{way[3]}" for name in METRICS]
    found = evaluate_in_detail(view, names, bootstrap=Bootstrap())
    recall, score = (found.scores[name] for name in names)
    return FrontierPoint(*way, recall, score, found.intervals[names[1]], *n_bytes, milliseconds)


def _milliseconds(rows: np.ndarray, codes: np.ndarray | QuantisedRows, signs: np.ndarray | None = None) -> float:
    """Return the median time of a query by itself that searches all rows as they are kept."""
    removed, k, times = np.empty(0, np.int64), min(K, len(rows)), []
    for query in np.linspace(0, len(rows) - 1, N_TIMED).astype(np.int64):
        one, begun = rows[query : query + 1], time.perf_counter()
        if signs is None:
            search(one, codes, k, threads=1)
        else:
            search_signs(one, codes, signs, k, min(SHORTLIST * K, len(rows)), removed)
        times.append(time.perf_counter() - begun)
    return 1000 * float(np.median(times))
