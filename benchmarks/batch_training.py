"""Steps of training whose batch is ten times the training split, in the memory of a chunk of it.

The icons' training split has fewer images than the batch, so classes repeat their images; every repeat is augmented
anew. Each loss runs in a process of its own, whose memory is counted from when the run is assembled.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Table
from benchmarks.measuring import PeakMemory, measured_apart
from fairground.commands.memory_allocator import keep_memory
from fairground.spec import load_run, parse_overrides
from fairground.training.assemble import assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.loop import Training

BATCH, CHUNK = 65_536, 512
#: what is typed after `fairground train`
WORDS = (
    "trunk=folded_conv",
    f"training.batch_size={BATCH}",
    "sampler.per_class=1024",
    f"training.gradient_chunk={CHUNK}",
    "training.freeze_batch_norm=stats",
)
LOSSES = ("nt_xent", "multi_similarity", "contrastive", "proxy_anchor")


def tables() -> Iterator[Table]:
    """Yield the one table of this benchmark."""
    rows = []
    for loss in LOSSES:
        value, seconds, megabytes = measured_apart(step, loss)
        rows.append([loss, f"{value:.3f}", f"{seconds:.0f}", f"{megabytes:.0f}"])
    yield Table(
        title=f"One step of training with a batch of {BATCH:,} icons",
        note=f"`fairground train loss=LOSS {' '.join(WORDS)}`: images drawn, augmented, embedded, compared with each "
        f"other and trained on, {CHUNK} at a time; {BATCH // 1024} classes of 1,024 images each. Processor seconds of "
        "the first step, and the most memory the process held above what it held before it.",
        header=["loss", "value", "processor seconds", "peak memory above the start, MB (goal: under 1,500)"],
        rows=rows,
    )


def step(loss: str) -> tuple[float, float, float]:
    """Return the loss of the first step, its processor seconds, and the megabytes it takes."""
    keep_memory()
    spec = load_run(protocol="laptop", overrides=parse_overrides([f"loss={loss}", *WORDS]))
    parts = assemble(spec)
    with tempfile.TemporaryDirectory() as folder:
        training = Training(parts=parts, checkpoints=Checkpoints(Path(folder)))
        parts.model.train()
        parts.loader.start_epoch()
        with PeakMemory() as peak:
            begun = time.process_time()
            training.batch()
            seconds = time.process_time() - begun
    return training.progress.loss_sum, seconds, peak.megabytes
