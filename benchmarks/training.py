"""What the walk of a run costs beside the training itself, and what a second worker brings."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks.harness import Table, best_times, milliseconds
from fairground.records.store import Store
from fairground.spec import load_run, parse_overrides
from fairground.studies.executors.processes import ProcessExecutor
from fairground.studies.scheduler import JOB, Scheduler
from fairground.training.assemble import assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.loop import Training

BATCHES = 4


def tables() -> Iterator[Table]:
    """Yield the throughput, the workers and the start-up tables."""
    yield _throughput()
    yield _workers()
    yield _start_up()


def _throughput() -> Table:
    torch.set_num_threads(1)
    rows = []
    for words in (("loss=contrastive",), ("loss=triplet", "miner=distance_weighted")):
        spec = load_run(overrides=parse_overrides(words))
        with tempfile.TemporaryDirectory() as folder:
            training = Training(parts=assemble(spec), checkpoints=Checkpoints(Path(folder)))
            training.parts.model.train()
            training.parts.loader.start_epoch()
            times = best_times({"walk": lambda t=training: _walk(t), "bare": _bare_loop(words)}, turns=15)
        images = BATCHES * spec.training.batch_size
        rows.append(
            [
                " ".join(words),
                f"{images / times['walk']:.0f}",
                f"{images / times['bare']:.0f}",
                f"{times['bare'] / times['walk']:.1%}",
            ]
        )
    return Table(
        title="Training throughput against a bare loop",
        note="The whole walk (draw, gather, augment, mine, step, progress) against a PyTorch loop over the same model, "
        f"loss and batch of {load_run().training.batch_size} on ready-made tensors; one thread.",
        header=["run", "walk, images/s", "bare, images/s", "walk / bare (goal: at least 95 %)"],
        rows=rows,
    )


def _walk(training: Training) -> None:
    for _ in range(BATCHES):
        training.batch()


def _bare_loop(words: tuple[str, ...]) -> Callable[[], None]:
    parts = assemble(load_run(overrides=parse_overrides(words)))
    stepper = parts.stepper
    model, loss, miner = stepper.model.train(), stepper.loss, stepper.miner
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    batch = parts.loader.draw()
    images, labels, generator = batch.images, batch.labels, parts.stepper.generator

    def loop() -> None:
        for _ in range(BATCHES):
            optimiser.zero_grad()
            embeddings = model(images)
            tuples = None if miner is None else miner(embeddings, labels, generator=generator)
            loss(embeddings, labels, tuples).backward()
            optimiser.step()

    return loop


def _workers() -> Table:
    words = ["training.epochs=1", "training.batches_per_epoch=40"]
    seconds = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as home, ProcessExecutor(JOB, workers=workers, threads=1) as executor:
            scheduler = Scheduler(store=Store(home), executor=executor)
            # A first run in each worker pays for imports and compilation.
            warm = [
                load_run(overrides=parse_overrides([words[0], "training.batches_per_epoch=1", f"seed={i}"]))
                for i in range(workers)
            ]
            scheduler.run_specs(warm)
            begun = time.perf_counter()
            scheduler.run_specs([load_run(overrides=parse_overrides([*words, f"seed={i}"])) for i in range(4)])
            seconds[workers] = time.perf_counter() - begun
    return Table(
        title="Two workers against one",
        note=f"Four runs of 40 batches with validation and test, one thread a worker, {os.cpu_count()} cores.",
        header=["workers", "seconds", "speed-up (goal: at least 1.8)"],
        rows=[[str(n), f"{seconds[n]:.1f}", f"{seconds[1] / seconds[n]:.2f}"] for n in (1, 2)],
    )


def _start_up() -> Table:
    command = [str(Path(sys.executable).with_name("fairground")), "--help"]
    times = best_times({"help": lambda: subprocess.run(command, check=True, capture_output=True)}, turns=15)
    return Table(
        title="Start-up",
        note="`fairground --help`, a whole process (goal: under 500 ms).",
        header=["command", "milliseconds"],
        rows=[["fairground --help", milliseconds(times["help"])]],
    )
