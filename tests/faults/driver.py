"""A driver in a process of its own: conducts the runs of the tests in this room and prints one line a record.

Arguments: the home, how many runs, and the executor. Every epoch a run tells of is a line on the error stream.
"""

import sys
from pathlib import Path

from fairground.execution.choose import executor_named
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.run import RunSpec
from fairground.study.run_specs import JOB, run_specs
from tests.training.tiny import tiny


def specs(n: int) -> list[RunSpec]:
    return [tiny("training.epochs=2", f"seed={seed}") for seed in range(n)]


def conducted(home: Path, n: int, executor: str = "inline") -> dict[str, str]:
    """Return the digits of every run."""
    return {record.name: record.digits() for record in records(home, n, executor)}


def records(home: Path, n: int, executor: str, watch=None) -> list[RunRecord]:
    with executor_named(executor, JOB, workers=1, watch=watch) as hired:
        return list(run_specs(specs(n), store=Store(home), executor=hired))


def tell(told) -> None:
    if told["kind"] == "epoch":
        print("epoch", told["run"], told["epoch"], file=sys.stderr, flush=True)


if __name__ == "__main__":
    with executor_named(sys.argv[3], JOB, workers=1, watch=tell) as hired:
        for record in run_specs(specs(int(sys.argv[2])), store=Store(sys.argv[1]), executor=hired):
            print(record.name, record.state, flush=True)
