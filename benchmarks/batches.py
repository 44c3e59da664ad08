"""Losses of batches whose matrix of comparisons is not held, against the matrix at the largest batch that holds it."""

import time
from collections.abc import Iterator

import torch

from benchmarks.harness import Table
from benchmarks.measuring import PeakMemory, measured_apart
from fairground import losses

HELD = 8_192
LARGE = 65_536
DIMENSIONS = 128
CLASS_SIZE = 4
LOSSES = {"nt_xent": losses.NtXentLoss, "multi_similarity": losses.MultiSimilarityLoss}


def tables() -> Iterator[Table]:
    """Yield the one table of this benchmark."""
    yield beyond_memory()


def beyond_memory() -> Table:
    """Forward and backward of a batch of 65,536."""
    rows = []
    for name in LOSSES:
        held, _ = step_costs(name, HELD)
        large, peak = measured_apart(step_costs, name, LARGE)
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
