"""What using a model costs beyond its network: a search through 100,000 rows, and reading photographs from a folder.

FAIRGROUND_BENCH_PHOTOS says how many photographs are embedded (192 by default, to be quick; the ratio is the same for
5,000, as every block of 128 costs the same), FAIRGROUND_BENCH_TRUNKS by which networks (both below by default).
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from benchmarks.harness import Table, best_times, milliseconds
from fairground import __version__
from fairground.contracts.trunk_head_transform import PhotoTrunk
from fairground.deploy.embed_images import Embedder, UsableModel, embed_to_file
from fairground.deploy.index_search import search
from fairground.deploy.inputs import read_inputs
from fairground.deploy.metadata import ModelMetadata
from fairground.evaluation.embed import PIXELS
from fairground.heads.linear import LinearHead
from fairground.spec.run_spec import ComponentSpec
from fairground.training.embedding_model import EmbeddingModel
from fairground.transforms.plain import PlainTransform
from fairground.trunks.efficientnet_lite0 import EfficientnetLite0Trunk
from fairground.trunks.resnet50 import Resnet50Trunk

N_PHOTOS = int(os.environ.get("FAIRGROUND_BENCH_PHOTOS", "192"))
TRUNKS: dict[str, Callable[..., PhotoTrunk]] = {"efficientnet_lite0": EfficientnetLite0Trunk, "resnet50": Resnet50Trunk}
CHOSEN = os.environ.get("FAIRGROUND_BENCH_TRUNKS", " ".join(TRUNKS)).split()
ROWS, WIDTH = 100_000, 128


def tables() -> Iterator[Table]:
    """Yield the two tables."""
    yield search_table()
    yield folder_table()


def search_table() -> Table:
    """Return the time of an exact search for one query and for 64, beside faiss where it is there."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(ROWS, WIDTH)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    queries = rows[:64].copy()
    calls: dict[str, Callable[[], object]] = {
        "1 query": lambda: search(queries[:1], rows, 10),
        "64 queries": lambda: search(queries, rows, 10),
    }
    try:
        import faiss

        flat = faiss.IndexFlatIP(WIDTH)
        flat.add(rows)
        calls["1 query, faiss IndexFlatIP"] = lambda: flat.search(queries[:1], 10)
        calls["64 queries, faiss IndexFlatIP"] = lambda: flat.search(queries, 10)
    except ImportError:
        pass
    found = best_times(calls, turns=7)
    return Table(
        title=f"Exact search through {ROWS:,} x {WIDTH}",
        note="The ten most similar rows in memory, equal similarities in order of number. Goal for one query: 20 ms.",
        header=["search", "ms"],
        rows=[[name, milliseconds(seconds)] for name, seconds in found.items()],
    )


def folder_table() -> Table:
    """Return the throughput from JPEG files to a file of embeddings, beside the bare network on ready tensors."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "photos"
        _photographs(folder)
        material = read_inputs(folder)
        for name in CHOSEN:
            model = _model(name, TRUNKS[name](channels=3, weights=None))
            ready = model.transform.evaluate(material.images, np.arange(N_PHOTOS))
            bare = Embedder(model.network, normalise=True).eval()
            step = max(1, PIXELS // (224 * 224))

            def through(bare: Embedder = bare, ready: torch.Tensor = ready, step: int = step) -> None:
                with torch.no_grad():
                    for piece in torch.split(ready, step):
                        bare(piece)

            def from_files(model: UsableModel = model) -> None:
                embed_to_file(model, material, Path(place) / "out.npy")

            (bare_wall, bare_work), (wall, work) = _both_times(through, from_files)
            shares = [f"{100 * bare_wall / wall:.0f} %", f"{100 * bare_work / work:.0f} %"]
            rows.append([name, f"{N_PHOTOS / bare_wall:.1f}", f"{N_PHOTOS / wall:.1f}", *shares])
    return Table(
        title="From a folder of photographs to a file of embeddings",
        note=f"{N_PHOTOS} JPEG files of 500 x 375 pixels, shorter side 256, central 224; the network alone sees ready "
        f"tensors. Threads of the network: {torch.get_num_threads()}. Goal: 90 %. Processor time is that of all "
        "threads together, and hardly depends on what else the machine does.",
        header=["trunk", "network alone, images/s", "whole way, images/s", "share", "share by processor time"],
        rows=rows,
    )


def _both_times(*calls: Callable[[], None], turns: int = 2) -> list[tuple[float, float]]:
    """Return each call's best wall and processor seconds; they take turns."""
    best = [(float("inf"), float("inf")) for _ in calls]
    for turn in range(turns + 1):
        for number, call in enumerate(calls):
            wall, work = time.perf_counter(), time.process_time()
            call()
            wall, work = time.perf_counter() - wall, time.process_time() - work
            if turn > 0:  # the first warms up
                best[number] = (min(best[number][0], wall), min(best[number][1], work))
    return best


def _photographs(folder: Path) -> None:
    folder.mkdir()
    generator = np.random.default_rng(0)
    for number in range(N_PHOTOS):
        # Smooth shapes with some grain: about as many bytes as a photograph of this size has.
        coarse = Image.fromarray(generator.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize((500, 375), 3)
        grain = generator.normal(0, 6, (375, 500, 3))
        pixels = np.clip(np.asarray(coarse) + grain, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:05d}.jpg", quality=85)


def _model(name: str, trunk: PhotoTrunk) -> UsableModel:
    torch.manual_seed(0)
    network = EmbeddingModel(trunk=trunk, head=LinearHead(n_features=trunk.n_features, embedding_dim=128)).eval()
    metadata = ModelMetadata(
        run="benchmark",
        protocol="none",
        fairground=__version__,
        trunk=ComponentSpec(name=name),
        head=ComponentSpec(name="linear"),
        transform=ComponentSpec(name="plain"),
        preprocessing=trunk.preprocessing,
        precision="full",
        is_picture=True,
        channels=3,
        size=None,
        embedding_dim=128,
        normalise=True,
        classes=(),
        data="",
        split="",
        data_fingerprint="",
        split_fingerprint="",
        weights_sha256="benchmark",
        scores=(),
        thresholds=(),
        notes=(),
    )
    transform = PlainTransform(preprocessing=trunk.preprocessing)
    return UsableModel(network=network, transform=transform, metadata=metadata, device=torch.device("cpu"))
