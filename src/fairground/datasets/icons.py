"""Pictograms of one concept drawn by many icon sets, shipped with fairground: 32 x 32, gray, ink bright on black.

Paper
    None. `docs/icons.md` says how the set was made and what to expect of it; `data/icons-attribution.csv` names the
    authors and licence of every icon set.
"""

import hashlib
from pathlib import Path

import numpy as np

from fairground.contracts.dataset import DataError, Dataset, ImageTable, require
from fairground.loading.image_dataset import ImagesInMemory
from fairground.records.arrays import read_arrays

SHIPPED = Path(__file__).parent / "data" / "icons.npz"
SHA256 = "2f8ce7df2b87f7f1a496a9cdcb03fb0bfab64bed7cc8249b4632de7b31a31e9e"


class IconsDataset(Dataset):
    """`path` is another file written by `scripts/build_icons.py`, such as the large one; empty for the shipped one."""

    def __init__(self, *, path: str = "") -> None:
        require(not path or Path(path).exists(), f"icons.path must be a file or empty; there is no file '{path}'")
        self.path = path

    def load(self) -> ImageTable:
        if not self.path:
            _check_shipped(SHIPPED)
        names = ["images", "labels", "class_names", "split", "source_set", "source_name"]
        arrays = read_arrays(Path(self.path) if self.path else SHIPPED, names)
        refusal = f"icons are gray images (n, height, width); '{self.path}' holds {arrays['images'].shape}"
        require(arrays["images"].ndim == 3, refusal, DataError)
        sources = zip(arrays["source_set"].tolist(), arrays["source_name"].tolist(), strict=True)
        return ImageTable(
            images=ImagesInMemory(arrays["images"][:, np.newaxis]),
            labels=arrays["labels"].astype(np.int64),
            class_names=tuple(arrays["class_names"].tolist()),
            official_test=arrays["split"] == 1,
            identifiers=tuple(f"{prefix}:{name}" for prefix, name in sources),
        )


def _check_shipped(path: Path) -> None:
    require(path.is_file(), f"{path} is missing: reinstall fairground", DataError)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    refusal = f"{path} is damaged: its SHA-256 is {found[:12]}... instead of {SHA256[:12]}...; reinstall fairground"
    require(found == SHA256, refusal, DataError)
