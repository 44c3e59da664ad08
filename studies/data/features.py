"""Pooled features of a frozen network, EfficientNet-Lite0 unless said, for sets that the other scripts have laid out.

Formula
    features = mean over the image of the trunk's last layer (1280 numbers of EfficientNet-Lite0), of the central
    224 x 224 of the picture with its shorter side resized to 256, scaled as the weights expect; kept as float16

For each folder `NAME.npz` is written (`features`, `labels`, `class_names`, `split`, `files` and perhaps `groups`), for
`data=features`, and `NAME.json`, which says what it was made of. Killed at any moment, the same command goes on where
it was and ends in the same bytes.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from layout import DESCRIPTION, TABLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fairground.contracts.dataset import ImageTable
from fairground.contracts.trunk_head_transform import Trunk
from fairground.datasets.table import TableDataset
from fairground.errors import DataError, FairgroundError, require
from fairground.evaluation.embed import embed_blocks
from fairground.records.arrays import write_arrays
from fairground.spec.catalogue import find
from fairground.transforms.plain import PlainTransform

TRUNK = "efficientnet_lite0"
SIDE, SHORTER_SIDE = 224, 256
#: seconds between two notes of what is done
NOTE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What the features depend on; `data_sha256` is that of the set laid out."""

    data_sha256: str
    trunk: str
    weights_sha256: str
    side: int
    shorter_side: int


def write_features(folder: Path, out: Path, *, name: str = TRUNK, trunk: Trunk, console: Console) -> Path:
    """Write the features of one folder laid out, and return the file; nothing is computed again that is there."""
    described = read_description(folder)
    recipe = Recipe(
        data_sha256=described["sha256"],
        trunk=name,
        weights_sha256=trunk.weights_fingerprint,
        side=SIDE,
        shorter_side=SHORTER_SIDE,
    )
    file, summary = out / f"{described['name']}.npz", out / f"{described['name']}.json"
    if file.is_file() and _recipe_of(summary) == asdict(recipe):
        console.print(f"{file} is there already.", soft_wrap=True)
        return file
    table = TableDataset(path=str(folder / TABLE)).load()
    out.mkdir(parents=True, exist_ok=True)
    rows = _Rows(file, recipe, shape=(len(table.labels), trunk.n_features))
    _fill(rows, table, trunk, described["title"], console)
    write_arrays(file, _arrays(table, rows.done()))
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    known = {"file": file.name, "sha256": sha256, "recipe": asdict(recipe), "set": described}
    summary.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    rows.remove()
    return file


def read_description(folder: Path) -> dict[str, Any]:
    """Return the description that laying a set out leaves in its folder."""
    path = folder / DESCRIPTION
    require(
        path.is_file(),
        f"'{folder}' has no {DESCRIPTION}; give a folder that cub200.py, cars196.py, fruits360.py or pets.py has made",
        DataError,
    )
    described: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return described


class _Rows:
    """Rows on disk while they are computed: `FILE.partial.npy`, and `FILE.progress.json` for how many are there."""

    def __init__(self, file: Path, recipe: Recipe, *, shape: tuple[int, int]) -> None:
        self._path = file.with_name(f"{file.name}.partial.npy")
        self._progress = file.with_name(f"{file.name}.progress.json")
        self._recipe = asdict(recipe)
        self.n_done = self._found(shape)
        if self.n_done:
            self._rows = np.lib.format.open_memmap(self._path, mode="r+")
        else:
            self._rows = np.lib.format.open_memmap(self._path, mode="w+", dtype=np.float16, shape=shape)
        self._noted = time.monotonic()

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, block: np.ndarray) -> None:
        """Append some rows; every few seconds, and at the end, note that they are safe."""
        self._rows[self.n_done : self.n_done + len(block)] = block
        self.n_done += len(block)
        if self.n_done == len(self) or time.monotonic() - self._noted >= NOTE_SECONDS:
            self._rows.flush()
            noted = self._progress.with_name(f"{self._progress.name}.tmp")
            noted.write_text(json.dumps({"recipe": self._recipe, "n_done": self.n_done}), encoding="utf-8")
            noted.replace(self._progress)
            self._noted = time.monotonic()

    def done(self) -> np.ndarray:
        """Return all rows."""
        assert self.n_done == len(self)
        return np.array(self._rows)

    def remove(self) -> None:
        """Remove both files: the finished one holds the rows."""
        self._path.unlink(missing_ok=True)
        self._progress.unlink(missing_ok=True)

    def _found(self, shape: tuple[int, int]) -> int:
        with suppress(OSError, ValueError, KeyError, TypeError):
            noted = json.loads(self._progress.read_text(encoding="utf-8"))
            is_same = noted["recipe"] == self._recipe and np.load(self._path, mmap_mode="r").shape == shape
            return int(noted["n_done"]) if is_same else 0
        return 0


def _fill(rows: _Rows, table: ImageTable, trunk: Trunk, title: str, console: Console) -> None:
    """Compute what is missing. Blocks begin where they would in one go, so that the bytes come out the same."""
    transform = PlainTransform(preprocessing=trunk.preprocessing, side=SIDE, shorter_side=SHORTER_SIDE)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=len(rows), completed=rows.n_done)
        for block in embed_blocks(trunk, table.images, np.arange(rows.n_done, len(rows)), transform):
            rows.add(block.numpy().astype(np.float16))
            bar.update(task, completed=rows.n_done)


def _arrays(table: ImageTable, features: np.ndarray) -> dict[str, np.ndarray]:
    assert table.listed_parts is not None
    assert table.identifiers is not None
    arrays = {
        "features": features,
        "labels": table.labels.astype(np.int16),
        "class_names": np.array(table.class_names),
        "split": table.listed_parts,
        "files": np.array(table.identifiers),
    }
    return arrays if table.groups is None else {**arrays, "groups": table.groups.astype(np.int16)}


def _recipe_of(summary: Path) -> Any:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return json.loads(summary.read_text(encoding="utf-8"))["recipe"]
    return None


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    made.add_argument("folders", metavar="DATA_FOLDER", nargs="+", type=Path, help="a folder that a script has made")
    made.add_argument("-o", "--out", metavar="FEATURES_FOLDER", type=Path, required=True, help="where files go")
    made.add_argument("--trunk", default=TRUNK, help="the network (default: %(default)s), with weights from ImageNet")
    made.add_argument("--weights", default="imagenet", help="its file, where it is in no installed package")
    made.add_argument("--threads", type=int, default=0, help="threads that compute and read pictures; 0 for all")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the features of every folder named."""
    asked = _parser().parse_args(arguments)
    console = Console(stderr=True)
    if asked.threads > 0:
        torch.set_num_threads(asked.threads)
        os.environ["OMP_NUM_THREADS"] = str(asked.threads)
    try:
        for folder in asked.folders:
            read_description(folder)
        trunk = find("trunks", asked.trunk)(channels=3, weights=asked.weights)
        for folder in asked.folders:
            print(write_features(folder, asked.out, name=asked.trunk, trunk=trunk, console=console))
    except FairgroundError as error:
        console.print(f"Refused: {error}", markup=False, soft_wrap=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
