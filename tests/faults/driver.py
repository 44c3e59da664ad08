"""A driver in a process of its own: makes the runs of the tests in this room and prints one line per record.

Arguments: the home, how many runs, and the executor. Every epoch a run tells of is a line on the error stream.
"""

import sys
from pathlib import Path

from fairground.records import RunRecord, Store
from fairground.spec.run_spec import RunSpec
from fairground.studies.executors.executor import executor_named
from fairground.studies.scheduler import JOB, Scheduler
from tests.training.tiny import tiny


def specs(n: int) -> list[RunSpec]:
    return [tiny("training.epochs=2", f"seed={seed}") for seed in range(n)]


def digits_of_runs(home: Path, n: int, executor: str = "inline") -> dict[str, str]:
    """Return the digits of every run."""
    return {record.name: record.digits() for record in records(home, n, executor)}


def records(home: Path, n: int, executor: str, watch=None) -> list[RunRecord]:
    with executor_named(executor, JOB, workers=1, watch=watch) as spawned:
        return Scheduler(store=Store(home), executor=spawned).run_specs(specs(n))


def print_epoch(event) -> None:
    if event["kind"] == "epoch":
        print("epoch", event["run"], event["row"]["epoch"], file=sys.stderr, flush=True)


def print_record(record: RunRecord) -> None:
    print(record.name, record.state, flush=True)


if __name__ == "__main__":
    with executor_named(sys.argv[3], JOB, workers=1, watch=print_epoch) as spawned:
        scheduler = Scheduler(store=Store(sys.argv[1]), executor=spawned, on_record=print_record)
        scheduler.run_specs(specs(int(sys.argv[2])))
