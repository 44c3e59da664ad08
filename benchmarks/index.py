"""An index that lives: a million rows opened, searched exactly, and changed without being made anew.

FAIRGROUND_BENCH_ROWS says how many rows (1,000,000). Every row of the table is judged against its goal; the search
after the changes is held against an index made anew, digit by digit.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Table, best_times
from benchmarks.measuring import measured_apart
from fairground.deploy.index import Index, open_index
from fairground.deploy.index_changes import add_embeddings, create_index, remove_from_index
from fairground.deploy.index_compaction import compact_index

ROWS = int(os.environ.get("FAIRGROUND_BENCH_ROWS", "1000000"))
WIDTH, ADDED, QUERIES, K, CLASSES = 128, 1000, 20, 10, 10_000


def tables() -> Iterator[Table]:
    """Yield the one table."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "index"
        building = _seconds(lambda: _build(folder))
        opening, first = measured_apart(open_and_search, folder)
        one, many, plain = _search_times(open_index(folder))
        adding = _seconds(lambda: _add(folder))
        removing = _seconds(lambda: remove_from_index(folder, ids=range(0, 5 * ADDED, 5)))
        changed = open_index(folder)
        after, _, _ = _search_times(changed)
        is_same = _answers_as_made_anew(changed, Path(place) / "anew")
        compacting = _seconds(lambda: compact_index(folder))
    rows = [
        ["open, in a fresh process", _milliseconds(opening), "1,000", _met(opening, 1.0)],
        ["its first query", _milliseconds(first), "", ""],
        ["one query", _milliseconds(one), "30", _met(one, 0.03)],
        ["the same by a product of all rows in single precision", _milliseconds(plain), "", ""],
        [f"{QUERIES} queries at once, for each", _milliseconds(many / QUERIES), "", ""],
        [f"add {ADDED:,} rows", _milliseconds(adding), "1,000", _met(adding, 1.0)],
        [f"remove {ADDED:,} rows", _milliseconds(removing), "1,000", _met(removing, 1.0)],
        ["one query after both", _milliseconds(after), "30", _met(after, 0.03)],
        [
            "answers after both as those of an index made anew",
            "same digits" if is_same else "differ",
            "same digits",
            "",
        ],
        ["make it", _milliseconds(building), "", ""],
        ["compact it", _milliseconds(compacting), "", ""],
    ]
    yield Table(
        title=f"An index of {ROWS:,} x {WIDTH} that lives",
        note=f"Unit rows in {CLASSES:,} classes, the {K} most similar, every answer exact. What is added and removed "
        "is on the disk when the time is taken. Wall-clock times, the best of several for queries.",
        header=["what", "ms", "goal", "met"],
        rows=rows,
    )


def open_and_search(folder: Path) -> tuple[float, float]:
    """Return the seconds that opening takes, and those of the first query."""
    queries = _rows(1, 1)
    begun = time.perf_counter()
    index = open_index(folder)
    opened = time.perf_counter()
    index.search(queries, K)
    return opened - begun, time.perf_counter() - opened


def _search_times(index: Index) -> tuple[float, float, float]:
    queries = _rows(2, QUERIES)
    rows = np.asarray(index.embeddings)
    numbers = iter(range(10**9))

    def one() -> object:
        number = next(numbers) % QUERIES
        return index.search(queries[number : number + 1], K)

    calls: dict[str, Callable[[], object]] = {
        "one": one,
        "many": lambda: index.search(queries, K),
        "plain": lambda: np.argpartition(rows @ queries[0], -K)[-K:],
    }
    found = best_times(calls, turns=7)
    return found["one"], found["many"], found["plain"]


def _answers_as_made_anew(index: Index, folder: Path) -> bool:
    create_index(folder, width=WIDTH)
    add_embeddings(folder, np.asarray(index.embeddings), names=index.names)
    anew = open_index(folder)
    queries = _rows(3, QUERIES)
    pairs = [(index.search(some, K), anew.search(some, K)) for some in (queries, *queries[:5, None])]
    return all(
        np.array_equal(mine.numbers, theirs.numbers) and np.array_equal(mine.similarities, theirs.similarities)
        for mine, theirs in pairs
    )


def _build(folder: Path) -> None:
    create_index(folder, width=WIDTH)
    add_embeddings(folder, _rows(0, ROWS), names=_names("photo", ROWS), classes=_classes(ROWS))


def _add(folder: Path) -> None:
    add_embeddings(folder, _rows(4, ADDED), names=_names("new", ADDED), classes=_classes(ADDED))


def _names(stem: str, n: int) -> list[str]:
    return [f"{stem}s/{stem}_{number:08d}.jpg" for number in range(n)]


def _classes(n: int) -> list[str]:
    return [f"class {number % CLASSES}" for number in range(n)]


def _rows(seed: int, n: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, WIDTH), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f}"


def _met(seconds: float, goal: float) -> str:
    return "yes" if seconds < goal else "no"
