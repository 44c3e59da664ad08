"""Every reader of foreign files against thousands of changed ones: a result or a sentence of ours, quickly and small.

The tests read some hundreds of each by the same functions (`tests/fuzz`). FAIRGROUND_BENCH_SEED draws other changes
(0 by default).
"""

import atexit
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import torch

from benchmarks.foreign_files import Reader, readers
from benchmarks.harness import Table
from fairground.errors import FairgroundError

CASES = 10_000
SEED = int(os.environ.get("FAIRGROUND_BENCH_SEED", "0"))
SECONDS, MEGABYTES = 10.0, 2000.0
#: begun first, because all others are over long before
_SLOWEST = ("model folders", "index folders")


@dataclass
class FuzzFindings:
    """What came of the cases, the slowest of them, and every traceback once."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    faults: dict[str, str] = field(default_factory=dict)


def tables() -> Iterator[Table]:
    """Yield what every reader made of its cases."""
    # Every case writes files anew and waits for the disk: more readers at once than there are processors.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2 * (os.cpu_count() or 1), mp_context=context, initializer=_begin) as pool:
        names = pool.submit(_names).result()
        begun = {name: pool.submit(_row, name) for name in sorted(names, key=lambda name: name not in _SLOWEST)}
        for done in as_completed(begun.values()):
            print(", ".join(done.result()), file=sys.stderr, flush=True)
        rows = [begun[name].result() for name in names]
    yield Table(
        title="Changed files",
        note=f"What each reader made of files with random changes (seed {SEED}; goals: no traceback, below "
        f"{SECONDS:.0f} s and {MEGABYTES:,.0f} MB).",
        header=["reader", "cases", "a result", "a sentence", "a traceback", "slowest, s", "memory, MB"],
        rows=rows,
    )


@cache
def _own_readers() -> dict[str, Reader]:
    """Make this process' own sound files and readers, once."""
    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return readers(place)


def _begin() -> None:
    torch.set_num_threads(1)


def _names() -> list[str]:
    return list(_own_readers())


def _row(name: str) -> list[str]:
    """Return one reader's row of the table, and print every traceback once."""
    reader, before = _own_readers()[name], _peak_megabytes()
    with tempfile.TemporaryDirectory() as place:
        found = fuzz(reader, CASES, Path(place) / "case", seed=SEED)
    for fault in found.faults.values():
        print(fault, file=sys.stderr, flush=True)
    counts = [str(found.outcomes[kind]) for kind in ("a result", "a sentence", "a traceback")]
    return [name, f"{CASES:,}", *counts, f"{found.slowest:.2f}", f"{_peak_megabytes() - before:.0f}"]


def fuzz(reader: Reader, n_cases: int, place: Path, *, seed: int = 0) -> FuzzFindings:
    """Return what a reader made of so many changed files."""
    found = FuzzFindings()
    _write(reader, place)
    reader.read(place)  # what is not changed must be read, or nothing behind the first check would be reached
    for number in range(n_cases):
        one_case(reader, random.Random(f"{seed}-{number}"), place, found)
    return found


def one_case(reader: Reader, draw: random.Random, place: Path, found: FuzzFindings) -> str:
    """Change one file, read, and note what came of it."""
    _write(reader, place)
    hurt = draw.choice(sorted(reader.changed))
    (place / hurt).write_bytes(reader.changed[hurt](reader.files[hurt], draw))
    reader.mend(place)
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(place)
        outcome = "a result"
    except FairgroundError:
        outcome = "a sentence"
    except Exception as error:
        outcome = "a traceback"
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} {last.filename}:{last.lineno}"
        found.faults.setdefault(where, traceback.format_exc()[-2000:])
    found.outcomes[outcome] += 1
    found.slowest = max(found.slowest, time.perf_counter() - begun)
    return outcome


def _write(reader: Reader, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    for name, data in reader.files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    for table in tables():
        print(table.markdown())
