"""The processor time of the commands that read a run directory with 20,000 finished runs.

FAIRGROUND_BENCH_RECORDS says how many records there are (20,000 by default).
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from tests.records.factory import make_record

from benchmarks.harness import Table
from fairground.records import RunFolder, RunRecord

N_RECORDS = int(os.environ.get("FAIRGROUND_BENCH_RECORDS", "20000"))
#: numbers of methods; each is repeated on as many seeds as there are records for
SHAPES = (20, 200)
#: the most processor seconds that a command may take
GOALS = {"first list runs": 30.0, "list runs": 1.0, "show": 0.5, "compare": 12.0, "report": 12.0}


def tables() -> Iterator[Table]:
    """Yield the processor time of every command, for few methods and for many."""
    rows = []
    for n_methods in SHAPES:
        with tempfile.TemporaryDirectory() as place:
            home = Path(place)
            name = fill(home, n_methods, N_RECORDS)
            for command, seconds in measured(home, name).items():
                what = f"{n_methods} methods of {N_RECORDS // n_methods} seeds"
                rows.append([what, command, f"{seconds:.2f}", f"{GOALS[command]:g}"])
    yield Table(
        title=f"A run directory of {N_RECORDS:,} records",
        note="Processor seconds (user and system) of the command as a process, the start of Python included. "
        "The first command builds the index.",
        header=["records", "command", "seconds", "goal"],
        rows=rows,
    )


def fill(home: Path, n_methods: int, n_records: int) -> str:
    """Write finished runs of so many methods; return the name of one."""
    for number, record in enumerate(records(n_methods, n_records)):
        # As `Store.append` writes it, without waiting for the disk 20,000 times.
        body = record.to_json()
        path = RunFolder(home, record.name).record
        path.parent.mkdir(parents=True)
        path.write_text(f'{{"sha256":"{sha256(body.encode()).hexdigest()}","body":{body}}}')
        os.utime(path, ns=(number, number))
    return record.name


def records(n_methods: int, n_records: int) -> Iterator[RunRecord]:
    """Yield runs of methods that differ in their margin, and in how good they are."""
    for number in range(n_records):
        method, seed = number % n_methods, number // n_methods
        yield make_record(settings={"margin": (method + 1) / 1000}, seed=seed, level=0.3 + 0.1 * method / n_methods)


def measured(home: Path, name: str) -> Mapping[str, float]:
    """Return the processor seconds of each command."""
    commands = {
        "first list runs": ["list", "runs"],
        "list runs": ["list", "runs"],
        "show": ["show", name],
        "compare": ["compare"],
        "report": ["report", "--out", str(home / "page.html")],
    }
    return {key: processor_seconds([*words, "--home", str(home)]) for key, words in commands.items()}


def processor_seconds(arguments: list[str]) -> float:
    """Return the processor seconds of a command; other work on the machine counts little."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "fairground", *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
