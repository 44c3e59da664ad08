"""Re-ranking by k-reciprocal sets, sparse, beside a dense transcription of its definition.

Person re-identification uses dense forms: matrices (n, n) of distances, sets and overlaps, which 60,000 images would
need 29 GB each for. The form that torchreid ships is timed too where the variable `TORCHREID` names the folder of a
copy of its repository (KaiyangZhou/deep-person-reid); otherwise a sentence says that it was not there.
"""

import importlib.util
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

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
    torchreid, told = _torchreid(rows, labels, how)
    many, theirs = _points(LARGE)
    begun, cpu = time.perf_counter(), time.process_time()
    evaluate(many, theirs, ["map@r+k_reciprocal"])
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield Table(
        title="k-reciprocal re-ranking, k1 = 20, k2 = 6",
        note=f"Lists of {SMALL:,} x {WIDTH} against a dense NumPy form of the definition: {100 * agree:.2f} % of the "
        f"first 20 places are equal. {told} {LARGE:,} x {WIDTH}: MAP@R of all re-ranked lists.",
        header=["rows", "ours, s", "dense, s", "ratio", "torchreid, s", "processor s", "peak GB"],
        rows=[
            [
                f"{SMALL:,}",
                f"{times['ours']:.2f}",
                f"{times['dense']:.2f}",
                f"{times['dense'] / times['ours']:.1f}",
                torchreid,
                "",
                "",
            ],
            [f"{LARGE:,}", f"{wall:.0f}", "needs 29 GB per matrix", "", "", f"{cpu:.0f}", f"{memory:.1f}"],
        ],
    )


def _torchreid(rows: np.ndarray, labels: np.ndarray, how: KReciprocal) -> tuple[str, str]:
    """Return the seconds of torchreid's form, half of the rows searching the others, and what is said of it."""
    folder = os.environ.get("TORCHREID", "")
    file = Path(folder) / "torchreid" / "utils" / "rerank.py"
    if not folder or not file.is_file():
        return "absent", "torchreid's form was not timed: TORCHREID does not name a copy of its repository."
    found = importlib.util.spec_from_file_location("torchreid_rerank", file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    half = len(rows) // 2
    distance = np.sqrt(np.maximum(2 - 2 * rows @ rows.T, 0))
    np.fill_diagonal(distance, 0)
    parts = distance[:half, half:], distance[:half, :half], distance[half:, half:]

    def theirs() -> np.ndarray:
        return np.argsort(module.re_ranking(*parts, k1=how.k1, k2=how.k2, lambda_value=how.weight), axis=1)

    def ours() -> np.ndarray:
        view = EmbeddingView(rows[:half], labels[:half], rows[half:], labels[half:])
        return view.reranked(how).neighbour_numbers(20)

    agree = float((theirs()[:, :20] == ours()).mean())
    times = best_times({"ours": ours, "theirs": theirs}, turns=2, clock=time.process_time)
    told = (
        f"torchreid's form, {half:,} searching {half:,}: {100 * agree:.2f} % of the first 20 places are equal, and it "
        f"takes {times['theirs'] / times['ours']:.0f} times the processor time."
    )
    return f"{times['theirs']:.2f}", told


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
