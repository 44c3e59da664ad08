"""Does `fairground recommend` in five minutes find what a study of an hour finds? On the embedded icons.

The study trains the whole field with further settings (`recommend/laptop-settings`), under the protocol and with the
network and split that `recommend` chooses for five minutes on two workers, every method to its end on nine seeds. A try
is `fairground recommend icons --time 5m --seed N`, in a home of its own. Both are judged by test MAP@R:
    the method   what the study measured for the method that the try chose, beside the best method of the study;
    the model    what the try's own runs of that method reached.

Everything is kept in FAIRGROUND_BENCH_HOME (default: build/bench-recommend) and taken up there, so that it can be run
in pieces: FAIRGROUND_BENCH_PARTS=study, then tries, or both (the default). FAIRGROUND_BENCH_TRIES=5 says how many.
For a rehearsal FAIRGROUND_BENCH_TIME=60s and FAIRGROUND_BENCH_WORDS="training.epochs=2 training.batches_per_epoch=10"
shrink all of it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.harness import Table
from fairground.execution.processes import ProcessExecutor
from fairground.report.study_results import results_plain
from fairground.spec.study_load import load_study
from fairground.study.run_study import run_study

HOME = Path(os.environ.get("FAIRGROUND_BENCH_HOME", "build/bench-recommend"))
PARTS = os.environ.get("FAIRGROUND_BENCH_PARTS", "study tries").split()
TRIES = int(os.environ.get("FAIRGROUND_BENCH_TRIES", "5"))
TIME = os.environ.get("FAIRGROUND_BENCH_TIME", "5m")
WORDS = tuple(os.environ.get("FAIRGROUND_BENCH_WORDS", "").split())
STUDY = "recommend/laptop-settings"
REPEATS = 9
#: what `recommend` chooses for five minutes on two workers
NETWORK = "trunk=folded_conv"
SPLIT = "split.validation=0.4"
WORKERS = 2
METRIC = "map@r"
#: points of MAP@R
GOAL = 2.0


def tables() -> Iterator[Table]:
    """Yield the table of tries; nothing while a part is missing."""
    study = load_study(STUDY, changes=[f"repeats={REPEATS}", NETWORK, SPLIT, *WORDS])
    if "study" in PARTS:
        results = run_study(study, home=HOME / "study", spawn=_spawn, on_record=_print_record)
        found = {job["method"]: job["separated"][METRIC] for job in results_plain(results) if "separated" in job}
        (HOME / "study.json").write_text(json.dumps(found, indent=1))
    tries = [_try(seed) for seed in range(1, TRIES + 1)] if "tries" in PARTS else []
    if tries and (HOME / "study.json").exists():
        yield _table(json.loads((HOME / "study.json").read_text()), tries)


def _spawn(job: str) -> ProcessExecutor:
    return ProcessExecutor(job, workers=WORKERS)


def _print_record(record: Any) -> None:
    print(f"{record.spec['loss']['name']} seed {record.spec['seed']}: {record.score(METRIC)}", file=sys.stderr)


def _try(seed: int) -> dict[str, Any]:
    """Return what one try says; one that is over only tells it again."""
    command = [sys.executable, "-m", "fairground", "recommend", "icons", "--time", TIME, "--seed", str(seed)]
    command += ["--workers", str(WORKERS), "--home", str(HOME / f"try-{seed}"), "--json", *WORDS]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    print(f"try {seed}: {told['chosen']} in {told['seconds']} s", file=sys.stderr)
    return told


def _table(study: Mapping[str, Any], tries: Sequence[Mapping[str, Any]]) -> Table:
    means = {method: score["mean"] for method, score in study.items()}
    best = max(means, key=lambda method: means[method])
    rows, n_near = [], 0
    for seed, told in enumerate(tries, start=1):
        chosen = told["chosen"]
        own = next(row["test"] for row in (*told["standings"], *told["baselines"]) if row["method"] == chosen)
        gap = 100 * (means[best] - means.get(chosen, 0.0))
        n_near += gap <= GOAL
        model = f"{100 * fmean(own.values()):.2f}" if own else ""
        rows.append([str(seed), chosen, f"{100 * means.get(chosen, 0.0):.2f}", f"{gap:.2f}", model])
    return Table(
        title="A race of five minutes beside a study of an hour",
        note=f"Embedded icons, protocol `laptop` with {NETWORK} and {SPLIT}; test MAP@R in per cent. The study trained "
        f"{len(means)} methods on {REPEATS} seeds each; its best by the test classes is {best} with "
        f"{100 * means[best]:.2f}. Goal: within {GOAL:g} points in at least 4 of 5 tries; reached in {n_near} of "
        f"{len(tries)}.",
        header=["try", "chosen method", "the method in the study", "points below the best", "the try's own runs"],
        rows=rows,
    )
