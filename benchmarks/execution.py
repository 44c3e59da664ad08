"""What it costs to have runs carried out by each executor, and to ask a large store.

What a second worker brings is in `training`, beside the throughput of one.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.records.factory import make_record

from benchmarks.harness import Table
from fairground.records.store import Store
from fairground.studies.executors.executor import executor_named

JOBS = 100
SECONDS = 0.05
#: a run this long is what the overhead is held against
RUN_SECONDS = 10.0
RECORDS = 100_000


def tables() -> Iterator[Table]:
    """Yield the overhead and the store tables."""
    yield _overhead()
    yield _store()


def nap(argument: dict, tell: Callable[[dict], None]) -> dict:
    """Stand in for a run: sleeps, so that only what surrounds it costs anything."""
    time.sleep(argument["seconds"])
    tell({"kind": "epoch", "run": argument["n"]})
    return {"n": argument["n"]}


def _overhead() -> Table:
    rows = []
    for name in ("inline", "processes", "ray"):
        begun = time.perf_counter()
        with executor_named(name, "benchmarks.execution:nap", workers=1) as executor:
            # The first job waits for the worker, or the whole of Ray, to come up.
            list(executor.run({"first": {"n": -1, "seconds": 0.0}}))
            start = time.perf_counter() - begun
            begun = time.perf_counter()
            assert len(list(executor.run({str(n): {"n": n, "seconds": SECONDS} for n in range(JOBS)}))) == JOBS
            each = (time.perf_counter() - begun) / JOBS - SECONDS
        rows.append([name, f"{start:.1f}", f"{each * 1e3:.2f}", f"{each / RUN_SECONDS:.3%}"])
    return Table(
        title="Scheduling overhead",
        note=f"{JOBS} jobs that sleep {SECONDS * 1e3:.0f} ms and tell one thing, one worker; what a job takes beyond "
        f"its sleep, and what that is of a run of {RUN_SECONDS:.0f} s. Starting up is paid once.",
        header=["executor", "start-up, s", "overhead a run, ms", "of a 10-second run (goal: below 1 %)"],
        rows=rows,
    )


def _store() -> Table:
    with tempfile.TemporaryDirectory() as home:
        store = Store(Path(home))
        _fill(store)
        method, one = store.get(store.names(loss="triplet")[0]).method, store.names(loss="triplet")[0]
        assert len(store.names()) == RECORDS
        questions: dict[str, Callable[[], object]] = {
            "one run by the beginning of its name": lambda: store.get(one[:10]),
            "all names of one state": lambda: store.names(state="done"),
            "one metric of every run": lambda: store.summaries("map@r"),
            "one metric of one loss": lambda: store.summaries("map@r", loss="triplet"),
            "the records of one method (10 runs)": lambda: list(store.records(method=method)),
            "what did not finish": lambda: store.names(state="failed"),
            "append one record": lambda: store.append(make_record(seed=int(time.perf_counter() * 1e6))),
        }
        rows = [[what, f"{_seconds(ask) * 1e3:.1f}"] for what, ask in questions.items()]
        size = sum(file.stat().st_size for file in Path(home).iterdir()) / 2**20
    return Table(
        title=f"A store of {RECORDS:,} records",
        note=f"{size:.0f} MiB on disk; each question asked three times, the best is told (goal: below 1,000 ms).",
        header=["question", "milliseconds"],
        rows=rows,
    )


def _fill(store: Store) -> None:
    """Write ten real records of five losses, and have SQLite itself multiply them: one by one would take minutes."""
    losses = ("triplet", "contrastive", "margin", "multi_similarity", "proxy_anchor")
    store.append_all([make_record(loss=loss, seed=seed, epochs=3) for loss in losses for seed in range(10)])
    connection = store._connect()
    copies = RECORDS // 50
    numbers = f"WITH RECURSIVE copy (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM copy WHERE k < {copies - 1})"
    connection.execute("BEGIN")
    connection.execute(
        f"""{numbers} INSERT INTO record SELECT id + 50 * k, printf('%012x', (id + 50 * k) * 2654435761),
            method || ' ' || k, state, protocol, dataset, loss, seed, is_current, written FROM record, copy"""
    )
    connection.execute(f"{numbers} INSERT INTO body SELECT record + 50 * k, json FROM body, copy")
    connection.execute(f"{numbers} INSERT INTO score SELECT metric, split, record + 50 * k, value FROM score, copy")
    connection.execute("COMMIT")


def _seconds(ask: Callable[[], object]) -> float:
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        assert ask() is not None
        taken.append(time.perf_counter() - begun)
    return min(taken)
