"""What a run costs on this machine, by a few batches of it: the price list that a race is planned with.

A cost probe leaves no record and no file: it is no run.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from fairground.records.provenance import peak_memory
from fairground.spec.load import run_from_plain
from fairground.spec.seeds import child_seed
from fairground.training.assemble import assemble
from fairground.training.cached_views import prepare_inputs
from fairground.training.checkpoint import Checkpoints
from fairground.training.loop import Listener, Training, measure
from fairground.training.run import run_job

#: batches are timed for so many seconds, or so many of them, whichever ends first; the first one warms up
SECONDS, BATCHES = 6.0, 20
#: beside its embeddings, an opened test split costs its metrics over many more rows and a gallery
OPENING = 1.5


def race_job(job: Mapping[str, Any], tell: Listener = lambda _: None) -> dict[str, Any]:
    """Probe the cost of a run, or make it: a worker that has done the one has all in memory for the other."""
    return probe_cost(job, tell) if job.get("is_cost_probe") else run_job(job, tell)


def probe_cost(job: Mapping[str, Any], tell: Listener = lambda _: None) -> dict[str, Any]:
    """Return seconds to start, for a batch, a look and an opening of the test split: JSON in, JSON out."""
    spec = run_from_plain(job["spec"])
    parts = assemble(spec)
    begun = time.monotonic()
    # The first time imports half of torch; workers stay, and race with all of it in memory.
    parts = assemble(spec)
    start = time.monotonic() - begun
    parts = prepare_inputs(parts, spec, listen=tell)
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng(devices=[]):
        torch.manual_seed(child_seed(spec.seed, "global"))
        training = Training(spec=spec, parts=parts, checkpoints=Checkpoints(Path(folder)))
        _look(training)
        look = _look(training)
        begun = time.monotonic()
        training.begin()
        beginning = time.monotonic() - begun
        batch = _batch(training)
    n_test, n_validation = len(parts.parts.test), len(parts.parts.validation)
    return {
        # What comes once in a run's life besides its first look: the head's own start, the first checkpoint.
        "start": start + max(0.0, beginning - look),
        "batch": batch,
        "look": look,
        "opening": OPENING * look * n_test / max(n_validation, 1),
        "n_batches": parts.n_batches,
        "memory": peak_memory(),
    }


def _look(training: Training) -> float:
    begun = time.monotonic()
    rows = training.parts.parts.validation
    measure(training.spec, training.parts, training.embed(rows), rows)
    return time.monotonic() - begun


def _batch(training: Training) -> float:
    training.parts.model.train()
    training.parts.loader.start_epoch()
    training.batch()
    begun = time.monotonic()
    n = 0
    while n < 2 or (n < BATCHES and time.monotonic() - begun < SECONDS):
        if training.progress.batch >= training.parts.n_batches:
            training.progress.batch = 0
            training.parts.loader.start_epoch()
        training.batch()
        n += 1
    return (time.monotonic() - begun) / n
