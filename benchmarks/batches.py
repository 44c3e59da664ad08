"""Losses of batches whose matrix of comparisons is not held, against the matrix at the largest batch that holds it."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.harness import Table
from benchmarks.measuring import PeakMemory, measured_apart
from fairground import losses
from fairground.spec.load import load_run
from fairground.training.allocator import keep_memory
from fairground.training.assemble import assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.loop import Training

HELD = 8_192
LARGE = 65_536
DIMENSIONS = 128
CLASS_SIZE = 4
#: images embedded at once in training
CHUNK = 512
TRAINING = (
    "loss=nt_xent",
    "trunk.widths=[8, 16]",
    "training.freeze_batch_norm=stats",
    "sampler.per_class=4",
    "sampler.replace_classes=true",
    "sampler.replace_samples=true",
)
LOSSES = {"nt_xent": losses.NtXentLoss, "multi_similarity": losses.MultiSimilarityLoss}


def tables() -> Iterator[Table]:
    """Yield the losses by themselves, then a step of training."""
    yield beyond_memory()
    yield training()


def beyond_memory() -> Table:
    """Forward and backward of a batch of 65,536."""
    rows = []
    for name in LOSSES:
        held, _ = step_costs(name, HELD)
        large, peak = measured_apart(step_costs, name, LARGE)  # type: ignore[misc]
        scaled = held * (LARGE / HELD) ** 2
        rows.append([name, f"{large:.1f}", f"{scaled:.1f}", f"{large / scaled:.2f}", f"{peak:.0f}"])
    return Table(
        title=f"Batches beyond memory: {LARGE:,} x {DIMENSIONS}",
        note=(
            f"Forward and backward, classes of about {CLASS_SIZE}. The matrix form is measured at {HELD:,}, the "
            "largest batch whose matrix is held, and scaled by the square of the batch. Processor seconds: on a "
            "shared machine the wall clock says little."
        ),
        header=[
            "loss",
            "in blocks, s",
            "matrix form scaled, s",
            "ratio (goal: at most 1.3)",
            "peak memory above inputs, MB (goal: under 1,500)",
        ],
        rows=rows,
    )


def training() -> Table:
    """Return what a step of training with such a batch takes, network and all."""
    rows = []
    for batch_size in (CHUNK, LARGE):
        seconds, peak, value = measured_apart(training_costs, batch_size)  # type: ignore[misc]
        rows.append([f"{batch_size:,}", str(CHUNK), f"{seconds:.1f}", f"{peak:.0f}", f"{value:.3f}"])
    return Table(
        title=f"A step of training with a batch of {LARGE:,}",
        note=f"`{' '.join(TRAINING)}`: the embedded icons, their classes and images drawn with repetition because "
        f"there are fewer than the batch, each under an augmentation of its own. Embeddings are made {CHUNK} at a time "
        "(`gradient_chunk`), the loss is that of the complete batch. Processor seconds of one step; memory above that "
        "before the first batch is drawn.",
        header=["batch", "gradient_chunk", "a step, s", "peak memory, MB", "loss"],
        rows=rows,
    )


def training_costs(batch_size: int) -> tuple[float, float, float]:
    """Return the processor seconds of one step of training, the megabytes it takes, and its loss."""
    keep_memory()
    words = [*TRAINING, f"training.batch_size={batch_size}", f"training.gradient_chunk={CHUNK}"]
    spec = load_run(overrides=[*words, "training.epochs=1", "training.batches_per_epoch=1", "evaluation.test=false"])
    parts = assemble(spec)
    with tempfile.TemporaryDirectory() as folder, PeakMemory() as peak:
        training = Training(spec=spec, parts=parts, checkpoints=Checkpoints(Path(folder)))
        parts.model.train()
        parts.loader.start_epoch()
        begun = time.process_time()
        training.batch()
        seconds = time.process_time() - begun
    return seconds, peak.megabytes, float(training.progress.loss_sum)


def step_costs(name: str, n: int) -> tuple[float, float]:
    """Return the processor seconds of one step after a small one to warm up, and the megabytes it takes."""
    draw = torch.Generator().manual_seed(0)
    loss = LOSSES[name]()
    for size in (256, n):
        embeddings = torch.randn(size, DIMENSIONS, generator=draw, requires_grad=True)
        labels = torch.randint(size // CLASS_SIZE, (size,), generator=draw)
        with PeakMemory() as peak:
            begun = time.process_time()
            loss(embeddings, labels).backward()
            seconds = time.process_time() - begun
    return seconds, peak.megabytes
