"""A data set of image files before any file is opened: where each lies, what it shows, and whether all are there."""

import os
from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairground.contracts.dataset import Dataset
from fairground.contracts.table import ImageTable
from fairground.errors import DataError, require
from fairground.files import read_text, shown
from fairground.loading.archives import refuse_archive
from fairground.loading.image_files import images_from_files
from fairground.spec.counts import Counts

#: how many names a complaint shows
SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Photos:
    """`paths` (n) lie below `root`; the columns mean what they mean in an ImageTable. `boxes` (n, 4) are pixels.

    `notes` are sentences for the record: what was left out, and why.
    """

    root: Path
    paths: tuple[str, ...]
    labels: np.ndarray
    class_names: tuple[str, ...]
    official_test: np.ndarray | None = None
    super_labels: np.ndarray | None = None
    listed_parts: np.ndarray | None = None
    is_query: np.ndarray | None = None
    is_gallery: np.ndarray | None = None
    groups: np.ndarray | None = None
    boxes: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def select(self, rows: np.ndarray) -> "Photos":
        """Return some rows only; classes left without an image go, and the others are numbered anew."""
        kept, labels = np.unique(self.labels[rows], return_inverse=True)
        columns = ("official_test", "super_labels", "listed_parts", "is_query", "is_gallery", "groups", "boxes")
        held = {name: getattr(self, name) for name in columns}
        some: dict[str, Any] = {name: None if column is None else column[rows] for name, column in held.items()}
        return replace(
            self,
            paths=tuple(self.paths[row] for row in rows),
            labels=labels.astype(np.int64),
            class_names=tuple(self.class_names[label] for label in kept),
            **some,
        )

    def missing(self) -> np.ndarray:
        """Return the rows whose file is not there."""
        is_there = [os.path.isfile(self.root / path) for path in self.paths]  # noqa: PTH113 (twice as fast)
        return np.flatnonzero(~np.array(is_there, dtype=bool))

    def table(self, *, prepared: int = 0, draft: bool = False) -> ImageTable:
        """Return the table of these images; none is opened yet."""
        files = [self.root / path for path in self.paths]
        return ImageTable(
            images=images_from_files(files, root=self.root, boxes=self.boxes, prepared=prepared, draft=draft),
            labels=self.labels,
            class_names=self.class_names,
            official_test=self.official_test,
            identifiers=self.paths,
            super_labels=self.super_labels,
            listed_parts=self.listed_parts,
            is_query=self.is_query,
            is_gallery=self.is_gallery,
            groups=self.groups,
            notes=self.notes,
        )


class PhotoDataset(Dataset):
    """A data set whose images are files. `photos` says which; `load` makes sure of them and opens the table."""

    #: 0 to decode files whenever they are asked for, or the shorter side of images prepared once and kept
    prepared: int = 0
    #: whether JPEGs may be shrunk while they are decoded, which is faster and changes pixels a little
    draft: bool = False
    #: whether files that are not there may be left out
    subset: bool = False

    @abstractmethod
    def photos(self) -> Photos:
        """Return which files there should be and what they show."""

    def load(self) -> ImageTable:
        """Return the whole data set."""
        photos = self.photos()
        missing = photos.missing()
        if len(missing) and self.subset:
            note = f"data: {len(missing)} of {len(photos.paths)} listed images are not there and were left out"
            require(len(missing) < len(photos.paths), f"none of the listed images is in {photos.root}", DataError)
            there = np.setdiff1d(np.arange(len(photos.paths)), missing)
            photos = replace(photos.select(there), notes=(*photos.notes, note))
        elif len(missing):
            names = some_names([photos.paths[row] for row in missing])
            raise DataError(
                f"{len(missing)} of {len(photos.paths)} images are not in {photos.root}: {names}. Unpack the archive "
                "anew, remove broken links, or leave them out of the list"
            )
        return photos.table(prepared=self.prepared, draft=self.draft)


def check_counts(name: str, photos: Photos, official: Counts, *, subset: bool) -> Photos:
    """Return the photos if there are as many as published; noted where they are a subset, refused otherwise."""
    assert photos.official_test is not None
    halves = [photos.labels[photos.official_test == is_test] for is_test in (False, True)]
    found = Counts(*(count for half in halves for count in (len(np.unique(half)), len(half))))
    if found == official:
        return photos
    wanted, got = _in_words(official), _in_words(found)
    require(
        subset,
        f"{name} has {wanted}; this copy has {got}. Unpack the archive anew, or say data.subset=true if this is a part "
        "of it on purpose; its scores are then not those of the benchmark",
        DataError,
    )
    return replace(photos, notes=(*photos.notes, f"data: a subset of {name}: {got}, instead of {wanted}"))


def check_prepared(name: str, prepared: int) -> None:
    """Refuse a side that no image can have."""
    require(
        prepared == 0 or 16 <= prepared <= 4096,
        f"{name}.prepared must be 0 (decode whenever asked) or the shorter side in 16..4096 that images are prepared "
        f"to; got {prepared}",
    )


def existing_root(name: str, root: str, source: str) -> Path:
    """Return the folder `root`, or say where the data is to be had; nothing is downloaded."""
    path = Path(root).expanduser()
    require(bool(root), f"{name}.root must be the folder of the data. {source}", DataError)
    refuse_archive(path)
    require(path.is_dir(), f"{name}.root: there is no folder '{path}'. {source}", DataError)
    return path


def first_with(places: list[Path], entry: str) -> Path | None:
    """Return the first of some folders that has a certain entry."""
    return next((place for place in places if (place / entry).exists()), None)


def read_words(path: Path, *, n_words: int, header: int = 0) -> list[list[str]]:
    """Return the words of each line of an official list, its last word taking the rest of the line."""
    lines = read_text(path, error=DataError, encoding="utf-8-sig").splitlines()[header:]
    rows = [line.split(maxsplit=n_words - 1) for line in lines if line.strip()]
    wrong = next((number for number, row in enumerate(rows) if len(row) != n_words), None)
    if wrong is not None:
        raise DataError(f"{path}: entry {wrong + 1} has {len(rows[wrong])} words instead of {n_words}")
    return [[word.strip() for word in row] for row in rows]


def integers(path: Path, words: list[str]) -> np.ndarray:
    """Return a column of an official list as numbers."""
    try:
        return np.array([int(word) for word in words], dtype=np.int64)
    except ValueError as error:
        raise DataError(f"{path}: a number was expected: {error}") from error


def some_names(names: list[str]) -> str:
    """Return the first few names, quoted, and how many more there are."""
    listed = ", ".join(shown(name) for name in names[:SHOWN])
    return listed + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _in_words(counts: Counts) -> str:
    return (
        f"{counts.train_classes} + {counts.test_classes} classes with {counts.train_images} + {counts.test_images} "
        "images (train + test)"
    )
