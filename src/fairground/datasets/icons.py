"""Pictograms of one concept drawn by many icon sets, shipped with fairground: 32 x 32, gray, ink bright on black.

Paper
    None. `docs/icons.md` says how the set was made and what to expect of it; `data/icons-attribution.csv` names the
    authors and licence of every icon set.
"""

from pathlib import Path

import numpy as np

from fairground.contracts.dataset import DataError, Dataset, ImageTable, require
from fairground.loading.image_dataset import ImagesInMemory
from fairground.records.arrays import read_arrays

SHIPPED = Path(__file__).parent / "data" / "icons.npz"


class IconsDataset(Dataset):
    """`path` is another file written by `scripts/build_icons.py`, such as the large one; empty for the shipped one."""

    def __init__(self, *, path: str = "") -> None:
        require(not path or Path(path).exists(), f"icons.path must be a file or empty; there is no file '{path}'")
        self.path = path

    def load(self) -> ImageTable:
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
