"""The network's step, and what runs once: processor time against the loop as people write it.

Every contestant runs in a process of its own, because the allocator is set once for a process. Processor time is
counted, system calls included, because other work on the machine does not enter it; threads sleep while they wait for
each other, or their waiting would. The plain loop keeps channels first, leaves the allocator as it is, runs batch norm
as a layer of its own, and takes ReLU before the maximum; batch norm keeps its statistics in both.
FAIRGROUND_BENCH_STEPS says how many steps are measured (3).
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from benchmarks.harness import Table
from benchmarks.measuring import measured_apart
from benchmarks.network_step import STEPS, exact_step, norms_apart, own_step, plain_network, plain_step
from benchmarks.peak import ROWS, gemm_gigaflops
from fairground.commands.memory_allocator import keep_memory
from fairground.evaluation.embed import embed
from fairground.records.training_events import Event, StagesCached
from fairground.spec import RunSpec, load_run, parse_overrides
from fairground.training.assemble import assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.loop import Training
from fairground.training.stage_cache import prepare_inputs

#: trunk, images in a batch, side, channels, and the goal
NETWORKS = (
    ("efficientnet_lite0", 24, 224, 3, 3.0),
    ("small_conv", 128, 64, 3, 1.6),
    ("resnet50", 8, 224, 3, 1.2),
)
PHOTOS = 96


def tables() -> Iterator[Table]:
    """Yield the step of each network, embedding a folder, and training the last stages."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read by each contestant's process when it starts
    yield _steps()
    yield _folder()
    yield _last_stages()


def _steps() -> Table:
    peak = float(str(measured_apart(gemm_gigaflops, time.process_time)))
    rows = []
    for name, size, side, channels, goal in NETWORKS:
        arguments = (name, size, side, channels)
        plain, plain_gradient = _pair(measured_apart(plain_step, *arguments))
        ours, own_gradient = _pair(measured_apart(own_step, *arguments))
        operations, exact = _pair(measured_apart(exact_step, *arguments))
        largest = np.abs(exact).max()
        rows.append(
            [
                f"{name}, {size} images of {side} pixels",
                *(f"{seconds * 1e3:.0f}" for seconds in (plain, ours)),
                f"{plain / ours:.2f} (goal: {goal})",
                *(f"{operations / seconds / 1e9 / peak:.0%}" for seconds in (plain, ours)),
                *(f"{np.abs(found - exact).max() / largest:.1e}" for found in (plain_gradient, own_gradient)),
                f"{np.abs(own_gradient - plain_gradient).max() / largest:.1e}",
            ]
        )
    return Table(
        title="One step of the network",
        note=f"Forward and backward, best of {STEPS} in milliseconds of processor time. Of the peak: operations of all "
        "convolutions and linear layers, counted from their shapes, per second of processor time, against "
        f"{peak:.0f} GFLOP/s of float32 products of {ROWS:,} rows, measured so too. An error is the largest difference "
        "of a gradient, over the largest gradient: of both from the same in float64, and of one from the other "
        "(goal: 1e-5). In float64 both are equal to 1e-9 (tests). In float32 a value beside a corner of ReLU6 or of a "
        "maximum falls on one side or the other: with softplus in place of ReLU6, 6 images, the plain loop's error is "
        "5e-7 instead of 8e-4. Tried for resnet50, whose convolutions leave little below the peak: 1 x 1 convolutions "
        "as matrix products (slower), and ReLU inside oneDNN's convolutions (it turns NaN into 0 and hides "
        "divergence).",
        header=[
            "network",
            "plain loop",
            "fairground",
            "ratio",
            "plain loop, of the peak",
            "fairground, of the peak",
            "plain loop, error",
            "fairground, error",
            "difference",
        ],
        rows=rows,
    )


def _folder() -> Table:
    with tempfile.TemporaryDirectory() as folder:
        _photographs(Path(folder), PHOTOS)
        plain = float(str(measured_apart(plain_folder, folder)))
        ours = float(str(measured_apart(own_folder, folder)))
    return Table(
        title="Embedding a folder with EfficientNet-Lite0",
        note=f"{PHOTOS} JPEGs of 320 x 240 at 224 pixels, in batches of 32; images per second of processor time.",
        header=["plain loop", "fairground", "ratio (goal: 3.5)"],
        rows=[[f"{plain:.1f}", f"{ours:.1f}", f"{ours / plain:.2f}"]],
    )


def plain_folder(folder: str) -> float:
    """Return the images per second of a loop over files, channels first."""
    network = plain_network("efficientnet_lite0", 3).eval()
    files = sorted(Path(folder).rglob("*.jpg"))

    def one(path: Path) -> Tensor:
        with Image.open(path) as picture:
            small = picture.convert("RGB").resize((299, 224)).crop((37, 0, 261, 224))
        pixels = torch.from_numpy(np.asarray(small).copy()).permute(2, 0, 1)
        return (pixels.float() - 127) / 128

    def loop() -> None:
        with torch.no_grad(), norms_apart():
            for begin in range(0, len(files), 32):
                network(torch.stack([one(path) for path in files[begin : begin + 32]]))

    return len(files) / _best(loop)


def own_folder(folder: str) -> float:
    """Return the images per second of the same by our embedding of a data set."""
    keep_memory()
    parts = assemble(_photograph_spec(folder))
    rows = np.arange(len(parts.table.labels))
    return len(rows) / _best(lambda: embed(parts.model, parts.table.images, rows, parts.transform))


def _last_stages() -> Table:
    with tempfile.TemporaryDirectory() as folder:
        _photographs(Path(folder) / "photographs", PHOTOS)
        full, _ = _pair(measured_apart(batch_seconds, folder, "all"))
        rows = []
        for trainable in ("last:2", "head"):
            cached, filling = _pair(measured_apart(batch_seconds, folder, trainable))
            rows.append([trainable, *(f"{24 / seconds:.0f}" for seconds in (full, cached)), f"{full / cached:.1f}"])
            rows[-1].append(f"{float(filling):.0f}")
    return Table(
        title="Training the last stages of EfficientNet-Lite0 from a cache",
        note="Batches of 24 photographs at 224 pixels, prepared; images per second of processor time, and how many "
        "the frozen stages take when the cache is filled (goal: last:2 at 4 times a full pass).",
        header=["trainable", "full pass", "from the cache", "ratio", "filling"],
        rows=rows,
    )


def batch_seconds(folder: str, trainable: str) -> tuple[float, np.ndarray]:
    """Return the processor seconds of a batch, and the images per second of filling the cache."""
    keep_memory()
    os.environ["FAIRGROUND_CACHE"] = f"{folder}/cache"
    spec = _photograph_spec(f"{folder}/photographs", f"training.trainable={trainable}", "training.views=1")
    parts = assemble(spec)
    parts.table.images.prepare()
    told: list[StagesCached] = []
    begun = time.process_time()

    def listen(event: Event) -> None:
        if isinstance(event, StagesCached):
            told.append(event)

    parts = prepare_inputs(parts, listen=listen)
    speed = (told[0].n_views if told else 0) / (time.process_time() - begun)
    training = Training(parts=parts, checkpoints=Checkpoints(Path(folder)))
    parts.model.train()
    parts.loader.start_epoch()
    return _best(training.batch), np.array(speed)


def _photograph_spec(root: str, *words: str) -> RunSpec:
    own = (f"data.root={root}", "training.batch_size=24", "head.embedding_dim=128", "evaluation.test=false")
    return load_run(protocol="photographs", overrides=parse_overrides([*own, *words]))


def _photographs(folder: Path, n: int) -> None:
    generator = np.random.default_rng(0)
    for number in range(n):
        place = folder / f"class{number % 16:02d}"
        place.mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(generator.integers(0, 255, (24, 32, 3), dtype=np.uint8))
        coarse.resize((320, 240), Image.Resampling.BICUBIC).save(place / f"{number:03d}.jpg")


def _best(call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(STEPS + 1):
        begun = time.process_time()
        call()
        best = min(best, time.process_time() - begun)
    return best


def _pair(found: object) -> tuple[float, np.ndarray]:
    assert isinstance(found, Sequence)
    return float(found[0]), np.asarray(found[1])
