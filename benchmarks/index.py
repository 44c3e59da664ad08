"""An index of a million rows: opened, searched exactly, and changed.

FAIRGROUND_BENCH_ROWS sets the number of rows (1,000,000). The search after the changes is compared, bit by bit, with
that of an index built from the same rows.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Table, best_times
from benchmarks.measuring import measured_apart
from fairground.deploy.index_folder import Index, add_embeddings, create_index, open_index, remove_from_index
from fairground.deploy.index_search import search

ROWS = int(os.environ.get("FAIRGROUND_BENCH_ROWS", "1000000"))
WIDTH, ADDED, QUERIES, K, CLASSES = 128, 1000, 20, 10, 10_000


def tables() -> Iterator[Table]:
    """Yield the one table."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "index"
        building = _seconds(lambda: _add(create_index(folder, width=WIDTH).folder, 0, ROWS))
        opening, first = measured_apart(open_and_search, folder)
        adding = _seconds(lambda: _add(folder, 4, ADDED))
        removing = _seconds(lambda: remove_from_index(folder, ids=range(0, 5 * ADDED, 5)))
        index = open_index(folder)
        times = _search_times(index)
        answers = "identical" if _is_as_built_from_its_rows(index, Path(place) / "fresh") else "differ"
    rows: list[tuple[str, float, float | None]] = [
        ("open, in a new process", opening, 1.0),
        ("its first query", first, None),
        ("add 1,000 rows", adding, 1.0),
        ("remove 1,000 rows", removing, 1.0),
        ("one query, 1 thread", times["1 thread"], 0.05),
        ("one query, 2 threads", times["2 threads"], 0.05),
        (f"{QUERIES} queries at once, per query", times["many"] / QUERIES, None),
        ("build", building, None),
    ]
    yield Table(
        title=f"An index of {ROWS:,} x {WIDTH}",
        note=f"Unit rows in {CLASSES:,} classes, the {K} most similar, every answer exact; queries are timed after "
        f"adding and removing {ADDED:,} rows, and their answers are {answers} to those of an index built from the same "
        "rows. Changes are on the disk when the time is taken. Wall-clock times, the best of several for queries.",
        header=["what", "ms", "goal", "met"],
        rows=[
            [
                what,
                f"{seconds * 1e3:,.0f}",
                *(["", ""] if goal is None else [f"{goal * 1e3:,.0f}", _met(seconds, goal)]),
            ]
            for what, seconds, goal in rows
        ],
    )


def open_and_search(folder: Path) -> tuple[float, float]:
    """Return the seconds that opening takes, and those of the first query."""
    queries = _rows(1, 1)
    begun = time.perf_counter()
    index = open_index(folder)
    opened = time.perf_counter()
    index.search(queries, K)
    return opened - begun, time.perf_counter() - opened


def _search_times(index: Index) -> dict[str, float]:
    queries = _rows(2, QUERIES)

    def call(some: np.ndarray, threads: int) -> Callable[[], object]:
        return lambda: search(some, index.rows, K, removed=index.removed, threads=threads)

    calls = {"1 thread": call(queries[:1], 1), "2 threads": call(queries[:1], 2), "many": call(queries, 2)}
    return best_times(calls, turns=7)


def _is_as_built_from_its_rows(index: Index, folder: Path) -> bool:
    create_index(folder, width=WIDTH)
    names = index.names
    add_embeddings(folder, index.rows[index.ids], names=[names[row] for row in index.ids])
    mine, theirs = (one.search(_rows(3, QUERIES), K) for one in (index, open_index(folder)))
    is_same = np.array_equal(mine.numbers, index.ids[theirs.numbers])
    return is_same and np.array_equal(mine.similarities, theirs.similarities)


def _add(folder: Path, seed: int, n: int) -> None:
    names = [f"photos {seed}/photo_{number:08d}.jpg" for number in range(n)]
    add_embeddings(folder, _rows(seed, n), names=names, classes=[f"class {number % CLASSES}" for number in range(n)])


def _rows(seed: int, n: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, WIDTH), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _met(seconds: float, goal: float) -> str:
    return "yes" if seconds < goal else "no"
