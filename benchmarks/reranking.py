"""Re-ranking by k-reciprocal sets, sparse, beside a dense transcription of its definition.

Person re-identification uses dense forms: matrices (n, n) of distances, sets and overlaps, which 60,000 images would
need 29 GB each for.
"""

import resource
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Table, best_times
from fairground.evaluation import EmbeddingView, evaluate
from fairground.retrieval import KReciprocal

SMALL, LARGE, WIDTH = 2000, 60_000, 512


def tables() -> Iterator[Table]:
    """Yield the table of times."""
    how, rows, labels = KReciprocal(), *_points(SMALL)
    final = dense(rows, how)
    lists = EmbeddingView(rows, labels).reranked(how).neighbour_numbers(20)
    np.fill_diagonal(final, np.inf)
    agree = float((np.argsort(final, axis=1, kind="stable")[:, :20] == lists).mean())
    times = best_times(
        {
            "ours": lambda: EmbeddingView(rows, labels).reranked(how).neighbour_numbers(20),
            "dense": lambda: np.argsort(dense(rows, how), axis=1),
        },
        turns=2,
    )
    many, theirs = _points(LARGE)
    begun, cpu = time.perf_counter(), time.process_time()
    evaluate(many, theirs, ["map@r+k_reciprocal"])
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield Table(
        title="k-reciprocal re-ranking, k1 = 20, k2 = 6",
        note=f"Lists of {SMALL:,} x {WIDTH} against a dense NumPy form of the definition: {100 * agree:.2f} % of the "
        f"first 20 places are equal. {LARGE:,} x {WIDTH}: MAP@R of all re-ranked lists.",
        header=["rows", "ours, s", "dense, s", "ratio", "processor s", "peak GB"],
        rows=[
            [
                f"{SMALL:,}",
                f"{times['ours']:.2f}",
                f"{times['dense']:.2f}",
                f"{times['dense'] / times['ours']:.1f}",
                "",
                "",
            ],
            [f"{LARGE:,}", f"{wall:.0f}", "needs 29 GB per matrix", "", f"{cpu:.0f}", f"{memory:.1f}"],
        ],
    )


def _points(n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    labels = np.arange(n) // 20
    centres = generator.normal(size=(labels.max() + 1, WIDTH)).astype(np.float32)
    rows = centres[labels] + 1.5 * generator.normal(size=(n, WIDTH)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


def dense(rows: np.ndarray, how: KReciprocal) -> np.ndarray:
    """Return final distances of all pairs: sets as rows of booleans, overlaps by one row against all."""
    distance = np.maximum(2 - 2 * rows.astype(np.float64) @ rows.T.astype(np.float64), 0)
    np.fill_diagonal(distance, 0)
    distance /= distance.max(1, keepdims=True)
    order = np.argsort(distance, axis=1, kind="stable")
    near = np.zeros(distance.shape, bool)
    close = near.copy()
    np.put_along_axis(near, order[:, : how.k1 + 1], True, 1)
    np.put_along_axis(close, order[:, : round(how.k1 / 2) + 1], True, 1)
    near, close = near & near.T, close & close.T
    members = near.copy()
    for i, own in enumerate(near):
        candidates = close[own]
        members[i] |= candidates[3 * (candidates & own).sum(1) > 2 * candidates.sum(1)].any(0)
    weights = members * np.exp(-distance)
    weights /= weights.sum(1, keepdims=True)
    weights = weights[order[:, : how.k2]].mean(1)
    common = np.stack([np.minimum(weights[:, row > 0], row[row > 0]).sum(1) for row in weights])
    return (1 - how.weight) * (1 - common / (2 - common)) + how.weight * distance
