"""Photographs to training batches: decoding, the prepared cache, and fine-tuning against ready-made tensors."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageFilter

from benchmarks.harness import Table, best_times
from fairground.contracts import IMAGENET, Images
from fairground.loading import ImageFiles, PreparedImages
from fairground.spec.load_run_spec import load_run
from fairground.training.assemble import assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.loop import Training
from fairground.transforms.photographs import PhotographsTransform
from fairground.trunks.timm import import_torchvision

N_CLASSES, PER_CLASS, BATCH = 24, 6, 32
WIDTH, HEIGHT = 500, 375
#: a folder of real photographs to cut the JPEGs from; without it they are drawn
SOURCE = "FAIRGROUND_PHOTOGRAPHS"


def tables() -> Iterator[Table]:
    """Yield the input pipeline's and the fine-tuning tables."""
    torch.set_num_threads(1)
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "FAIRGROUND_CACHE")}
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(OMP_NUM_THREADS="1", FAIRGROUND_CACHE=f"{folder}/cache")
        try:
            kind = _photographs(Path(folder) / "images")
            yield _pipeline(Path(folder) / "images", kind)
            yield _fine_tuning(Path(folder) / "images", kind)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def _pipeline(root: Path, kind: str) -> Table:
    paths = sorted(root.rglob("*.jpg"))
    decoded = ImageFiles(paths, root=root)
    cached = PreparedImages(ImageFiles(paths, root=root), side=256)
    rows = np.arange(BATCH)
    transform = PhotographsTransform(preprocessing=IMAGENET, smallest_area=0.08)
    contestants = {
        "torchvision": _torchvision(paths[:BATCH]),
        "decoded": _ours(transform, decoded, rows),
        "cache": _ours(transform, cached, rows),
    }
    times = best_times(contestants, turns=15)
    rate = {name: BATCH / seconds for name, seconds in times.items()}
    words = {
        "torchvision": "Pillow and torchvision's transforms, image by image",
        "decoded": "fairground, first epoch: files decoded",
        "cache": "fairground, prepared cache",
    }
    return Table(
        title=f"JPEG {WIDTH} x {HEIGHT} to a 224 x 224 training crop",
        note=f"{kind}, quality 90; random resized crop (area 0.08 to 1), mirror, normalisation to a float batch of "
        f"{BATCH}; one thread, contestants in turns. Goal: the cache at least 3 times torchvision.",
        header=["pipeline", "images/s", "ratio"],
        rows=[[words[name], f"{rate[name]:.0f}", f"{rate[name] / rate['torchvision']:.2f}"] for name in words],
    )


def _ours(transform: PhotographsTransform, images: Images, rows: np.ndarray) -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    return lambda: transform.train(images, rows, generator)


def _torchvision(paths: list[Path]) -> Callable[[], object]:
    import_torchvision()
    from torchvision import transforms

    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(IMAGENET.mean, IMAGENET.deviation),
        ]
    )

    def batch() -> torch.Tensor:
        return torch.stack([transform(Image.open(path).convert("RGB")) for path in paths])

    return batch


def _fine_tuning(root: Path, kind: str) -> Table:
    rows = []
    for prepared in (0, 256):
        training = _training(root, prepared)
        bare = _bare_loop(_training(root, prepared))
        times = best_times({"walk": training.batch, "bare": bare}, turns=3, at_least=0)
        rate = {name: BATCH / seconds for name, seconds in times.items()}
        name = "prepared cache" if prepared else "files decoded"
        rows.append([name, f"{rate['walk']:.1f}", f"{rate['bare']:.1f}", f"{times['bare'] / times['walk']:.1%}"])
    return Table(
        title="Fine-tuning EfficientNet-Lite0 on photographs against a bare loop",
        note=f"{kind}, {WIDTH} x {HEIGHT}, batch {BATCH} at 224 pixels, contrastive loss, batch norm frozen. The walk "
        "reads, cuts and augments one batch ahead in one thread of its own beside one training thread; the bare loop "
        "trains on the same tensors over and over.",
        header=["images from", "walk, images/s", "bare, images/s", "walk / bare (goal: at least 90 %)"],
        rows=rows,
    )


def _training(root: Path, prepared: int) -> Training:
    spec = load_run(
        overrides={
            "data": "folder",
            "data.root": str(root),
            "data.prepared": prepared,
            "transform": "mlrc2020",
            "transform.side": 224,
            "trunk": "efficientnet_lite0",
            "training.freeze_batch_norm": "stats",
            "training.batch_size": BATCH,
            "training.batches_per_epoch": 1000,
        }
    )
    training = Training(parts=assemble(spec), checkpoints=Checkpoints(root.parent / f"run{prepared}"))
    training.parts.model.train()
    training.parts.loader.start_epoch()
    return training


def _bare_loop(training: Training) -> Callable[[], object]:
    parts = training.parts
    model, loss, optimiser = parts.model, parts.stepper.loss, parts.stepper.optimiser
    batch = parts.loader.draw()

    def step() -> None:
        optimiser.zero_grad()
        loss(model(batch.images), batch.labels, None).backward()
        optimiser.step()

    return step


def _photographs(root: Path) -> str:
    """Write JPEGs in class folders and say what they are."""
    found = sorted(Path(os.environ.get(SOURCE, "")).rglob("*.jpg")) if os.environ.get(SOURCE) else []
    rng = np.random.default_rng(0)
    for label in range(N_CLASSES):
        folder = root / f"class{label}"
        folder.mkdir(parents=True)
        for number in range(PER_CLASS):
            place = label * PER_CLASS + number
            image = Image.open(found[place % len(found)]).convert("RGB") if found else _drawn(rng)
            image.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC).save(folder / f"{number}.jpg", quality=90)
    return "Real photographs" if found else "Drawn pictures"


def _drawn(rng: np.random.Generator) -> Image.Image:
    """Return smooth shapes with some texture: about as hard to decode as a photograph."""
    coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), np.uint8)).resize(
        (WIDTH, HEIGHT), Image.Resampling.BICUBIC
    )
    fine = Image.fromarray(rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)).filter(ImageFilter.GaussianBlur(2))
    return Image.blend(coarse, fine, 0.3)
