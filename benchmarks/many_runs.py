"""Many small runs in one process: processor seconds of a run of the `features` protocol, and what they are spent on.

Processor time is counted, because other work on the machine does not enter it; two cores make twice as many runs.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from benchmarks.harness import Table
from benchmarks.measuring import measured_apart
from fairground.spec.load_run_spec import load_run
from fairground.training import measure
from fairground.training import run as training_run
from fairground.training.loop import Training

ROWS, WIDTH, CLASSES, RUNS = 11_788, 1280, 200, 4
CORES = 2


def tables() -> Iterator[Table]:
    """Yield the one table."""
    seconds, first, share = measured_apart(small_runs)
    yield Table(
        title="Many small runs",
        note=f"Protocol `features` on {ROWS:,} x {WIDTH} features of {CLASSES} classes: 500 steps of 128, validation "
        "each epoch, the test split at the end. One thread; the first run of a worker also loads data and kernels. "
        "Goals: 1,500 runs an hour on two cores, 90 % of the time inside steps and metrics.",
        header=["first run, s", "each further run, s", "runs an hour on two cores", "inside steps and metrics"],
        rows=[[f"{first:.2f}", f"{seconds:.2f}", f"{CORES * 3600 / seconds:,.0f}", f"{share:.1%}"]],
    )


def small_runs() -> tuple[float, float, float]:
    """Return the processor seconds of a further run and of the first, and the fraction inside steps and metrics."""
    torch.set_num_threads(1)
    inside = 0.0

    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **named: Any) -> Any:
            nonlocal inside
            begun = time.process_time()
            found = call(*arguments, **named)
            inside += time.process_time() - begun
            return found

        return wrapper

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.npz"
        generator = np.random.default_rng(0)
        labels = np.repeat(np.arange(CLASSES), -(-ROWS // CLASSES))[:ROWS]
        centres = generator.normal(size=(CLASSES, WIDTH))
        features = (centres[labels] + 2 * generator.normal(size=(ROWS, WIDTH))).astype(np.float16)
        np.savez_compressed(path, features=features, labels=labels)

        def one(seed: int) -> float:
            spec = load_run(protocol="features", overrides={"data.path": str(path), "seed": seed})
            begun = time.process_time()
            training_run.run(spec, home=Path(folder) / "home")
            return time.process_time() - begun

        first = one(0)
        with (
            patch.object(Training, "batch", timed(Training.batch)),
            patch.object(Training, "_validate", timed(Training._validate)),
            patch("fairground.training.run.measure", timed(measure)),
        ):
            total = sum(one(seed) for seed in range(1, RUNS + 1))
    return total / RUNS, first, inside / total
