"""Processor time until a single `fairground train` trains, beyond the import of torch itself.

The run is the smallest there is: one batch of made-up images. Kernels are compiled once on a machine and kept, so the
first turn warms up and does not count.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness import Table

TURNS = 3
WORDS = ("data=synthetic", "training.epochs=1", "training.batches_per_epoch=1", "training.batch_size=16")


def tables() -> Iterator[Table]:
    """Yield the one table of this benchmark."""
    torch, run = [], []
    for _ in range(TURNS + 1):
        torch.append(_processor_seconds([sys.executable, "-c", "import torch"]))
        run.append(_training())
    alone, training = min(torch[1:]), min(run[1:])
    yield Table(
        title="Start-up of a single run",
        note=f"`fairground train {' '.join(WORDS)}`, a whole process with training, validation, test and record; "
        f"processor seconds, system calls included, the best of {TURNS} turns.",
        header=["import torch", "fairground train", "beyond torch (goal: at most 3)"],
        rows=[[f"{alone:.2f}", f"{training:.2f}", f"{training - alone:.2f}"]],
    )


def _training() -> float:
    command = [str(Path(sys.executable).with_name("fairground")), "train", *WORDS, "--quiet", "--threads", "1"]
    with tempfile.TemporaryDirectory() as home:
        return _processor_seconds([*command, "--home", home])


def _processor_seconds(command: Sequence[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
