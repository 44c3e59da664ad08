"""Images as data sets: files decoded on demand, arrays in memory, and ready-made features in the place of images."""

import hashlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from PIL import Image

from fairground import loading
from fairground.contracts.dataset import Dataset, Images, ImageTable
from fairground.loading import for_each, open_picture, picture_size, transform_steps
from fairground.spec import Counts, DataError, PictureError, file_digests, read_text, require, shown

#: rows looked at in one go
_BLOCK_BYTES = 2**24
_NO_SIZE = "features have no height and width, so this transform cannot cut them; say transform=plain trunk=features"


class Photographs(Images):
    """Images of any size, mostly RGB, each read when it is asked for."""

    is_slow = True
    channels = 3

    @abstractmethod
    def pixels(self, row: int) -> np.ndarray:
        """Return the whole image (h, w, c) of a row."""

    def piece(
        self, row: int, box: np.ndarray, side: int, shorter_side: int | None
    ) -> tuple[np.ndarray, transform_steps.Box]:
        """Return pixels (h, w, 3) and the box of them that a box of the image is; it will be resized to `side`."""
        if shorter_side is None:
            return self.pixels(row), box
        return np.asarray(transform_steps.resize_shorter_side(Image.fromarray(self.pixels(row)), shorter_side)), box

    def take(self, rows: np.ndarray) -> torch.Tensor:
        transform_steps.require_one_size(self.sizes(rows))
        found = for_each(self.pixels, np.asarray(rows).tolist())
        return torch.from_numpy(np.stack(found)).permute(0, 3, 1, 2)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> torch.Tensor:
        self.prepare()
        out = np.empty((len(rows), side, side, 3), np.uint8)

        def one(number: int) -> None:
            transform_steps.cut(*self.piece(int(rows[number]), boxes[number], side, shorter_side), out[number])

        for_each(one, range(len(rows)))
        return torch.from_numpy(out).permute(0, 3, 1, 2)


class ImageFiles(Photographs):
    """Image files decoded on demand, always RGB, cut to `boxes` (n, 4) of (left, top, right, bottom) where given.

    A box of four zeros leaves its image whole. `root` is left out of the fingerprint, so that a folder may move.
    `draft` allows shrunk decoding of JPEGs, which is faster and changes pixels a little.
    """

    def __init__(
        self, paths: Sequence[Path], *, root: Path, boxes: np.ndarray | None = None, draft: bool = False
    ) -> None:
        self.paths, self.root = tuple(Path(path) for path in paths), root
        self.boxes = None if boxes is None else np.asarray(boxes, dtype=np.int64)
        # A box could be cut from a shrunk image only between pixels, so these are always decoded whole.
        self.draft = draft and boxes is None
        self._sizes = np.zeros((len(self.paths), 2), np.int64)

    def __len__(self) -> int:
        return len(self.paths)

    def pixels(self, row: int) -> np.ndarray:
        return np.asarray(self.picture(row))

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        rows = np.asarray(rows)
        unknown = np.unique(rows[self._sizes[rows, 0] == 0])
        if len(unknown):
            self._sizes[unknown] = for_each(self._size, unknown.tolist())
        return transform_steps.resized_sizes(self._sizes[rows], shorter_side)

    def picture(self, row: int) -> Image.Image:
        picture = open_picture(self.paths[row])
        box = self._box(row, picture.height, picture.width)
        return picture if box is None else picture.crop(box)

    def resized(self, row: int, shorter_side: int) -> Image.Image:
        if not self.draft:
            return transform_steps.resize_shorter_side(self.picture(row), shorter_side)
        size = self.sizes(np.array([row]))[0]
        picture = open_picture(self.paths[row], shrink=_shrink(int(size.min()) / shorter_side))
        height, width = transform_steps.resized_sizes(size, shorter_side).tolist()
        return picture.resize((width, height), Image.Resampling.BILINEAR)

    def fingerprint(self) -> str:
        """Return a hash of every file's name under `root` and whole content, and of the boxes."""
        try:
            hashes = file_digests(self.paths)
        except OSError as error:
            raise PictureError(f"image '{error.filename}' cannot be read: {error.strerror}") from error
        digest = hashlib.sha256()
        for path in self.paths:
            digest.update(os.path.relpath(path, self.root).encode("utf-8", "surrogateescape"))
            digest.update(b"\0" + bytes.fromhex(hashes[path]))
        if self.boxes is not None:
            digest.update(self.boxes.tobytes())
        return digest.hexdigest()

    def piece(
        self, row: int, box: np.ndarray, side: int, shorter_side: int | None
    ) -> tuple[np.ndarray, transform_steps.Box]:
        """Return the piece alone, decoded no larger than needed where that is allowed."""
        left, top, right, bottom = (int(edge) for edge in box)
        if shorter_side is not None:
            picture = self.resized(row, shorter_side)
        elif self.draft:
            by = _shrink(min(right - left, bottom - top) / side)
            picture = open_picture(self.paths[row], shrink=by)
            whole = self.sizes(np.array([row]))[0]
            # Formats that cannot be decoded shrunk come whole.
            by = by if picture.width < whole[1] else 1
            left, top, right, bottom = left // by, top // by, -(-right // by), -(-bottom // by)
        else:
            picture = self.picture(row)
        refusal = f"crop ({left}, {top}, {right}, {bottom}) does not lie within image {shown(self.paths[row])}"
        require(0 <= left < right <= picture.width and 0 <= top < bottom <= picture.height, refusal)
        found = picture.crop((left, top, right, bottom))
        return np.asarray(found), (0, 0, *found.size)

    def _size(self, row: int) -> tuple[int, int]:
        height, width = picture_size(self.paths[row])
        left, top, right, bottom = self._box(row, height, width) or (0, 0, width, height)
        return bottom - top, right - left

    def _box(self, row: int, height: int, width: int) -> tuple[int, int, int, int] | None:
        if self.boxes is None or not self.boxes[row].any():
            return None
        left, top, right, bottom = (int(edge) for edge in self.boxes[row])
        refusal = f"box ({left}, {top}, {right}, {bottom}) does not lie within image {shown(self.paths[row])}"
        is_within = 0 <= left < right <= width and 0 <= top < bottom <= height
        require(is_within, f"{refusal}, which is {width} wide and {height} high", DataError)
        return left, top, right, bottom


def _shrink(ratio: float) -> int:
    return max((by for by in (2, 4, 8) if by <= ratio), default=1)


def shrunk_picture(images: Images, row: int, side: int) -> tuple[Image.Image, tuple[int, int]]:
    """Return one picture, of a JPEG perhaps a smaller one with sides of at least `side`, and its height and width."""
    if not isinstance(images, ImageFiles):
        item = images.take(np.array([row]))[0].numpy()
        # Of 3 channels all, of other numbers the first.
        pixels = np.ascontiguousarray(np.moveaxis(item, 0, 2)) if len(item) == 3 else item[0]
        return Image.fromarray(pixels), item.shape[1:]
    if images.boxes is not None:
        picture = images.picture(row)
        return picture, (picture.height, picture.width)
    size = picture_size(images.paths[row])
    return open_picture(images.paths[row], shrink=_shrink(min(size) / side)), size


class ImagesInMemory(Images):
    """All images of a small data set as one uint8 array (n, c, h, w); a batch is a single gather."""

    def __init__(self, pixels: np.ndarray) -> None:
        require(pixels.ndim == 4, f"images in memory are (n, channels, height, width); got {pixels.shape}", DataError)
        require(pixels.dtype == np.uint8, f"images in memory are uint8; got {pixels.dtype}", DataError)
        # torch refuses to share memory that numpy marks read-only, as arrays read from some files are.
        self._pixels = torch.from_numpy(np.require(pixels, requirements=["C", "W"]))
        self.channels = pixels.shape[1]

    def __len__(self) -> int:
        return len(self._pixels)

    def take(self, rows: np.ndarray | torch.Tensor) -> torch.Tensor:
        return self._pixels.index_select(0, torch.as_tensor(rows, dtype=torch.int64))

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        return np.tile(transform_steps.resized_sizes(np.array(self._pixels.shape[2:]), shorter_side), (len(rows), 1))

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> torch.Tensor:
        return transform_steps.crop_batch([self._pixels[row].numpy() for row in rows], boxes, side, shorter_side)

    def fingerprint(self) -> str:
        shape = repr(tuple(self._pixels.shape)).encode()
        return hashlib.sha256(shape + self._pixels.numpy().tobytes()).hexdigest()


class FeatureRows(Images):
    """Features (n, d) of any kind of number, given out as float32. Rows that are not finite are refused by number."""

    is_picture = False

    def __init__(self, features: np.ndarray, *, origin: str) -> None:
        refusal = f"features must be one row per item, (n, d); {origin} has shape {features.shape}"
        require(features.ndim == 2 and features.shape[1] > 0, refusal, DataError)
        require(features.dtype.kind in "fiu", f"features must be numbers; {origin} has {features.dtype}", DataError)
        self._features, self.channels = features, features.shape[1]
        step = max(1, _BLOCK_BYTES // (4 * self.channels))
        self._blocks = [slice(begin, begin + step) for begin in range(0, len(features), step)]
        finite = [torch.isfinite(_as_float32(np.array(features[block]))).all(1).numpy() for block in self._blocks]
        bad = np.flatnonzero(~np.concatenate(finite or [np.empty(0, bool)]))
        listed = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
        told = f"{origin}: {len(bad)} of {len(features)} rows are not finite numbers as float32: rows {listed}"
        require(len(bad) == 0, f"{told} (counted from 0)", DataError)

    def __len__(self) -> int:
        return len(self._features)

    def take(self, rows: np.ndarray) -> torch.Tensor:
        return _as_float32(self._features[np.asarray(rows)])

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        raise DataError(_NO_SIZE)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> torch.Tensor:
        raise DataError(_NO_SIZE)

    def fingerprint(self) -> str:
        digest = hashlib.sha256(f"{self._features.shape} {self._features.dtype.str}".encode())
        for block in self._blocks:
            digest.update(np.ascontiguousarray(self._features[block]).tobytes())
        return digest.hexdigest()


def _as_float32(block: np.ndarray) -> torch.Tensor:
    # torch turns halves into floats eight times as fast as numpy; the numbers are the same.
    if block.dtype == np.float16:
        return torch.from_numpy(block).float()
    return torch.from_numpy(np.asarray(block, dtype=np.float32))


def photo_table(
    root: Path, paths: Sequence[str], labels: np.ndarray, *, boxes: np.ndarray | None = None, **columns: Any
) -> ImageTable:
    """Return the table of image files, `paths` (n) below `root`; none is opened yet."""
    images = ImageFiles([root / path for path in paths], root=root, boxes=boxes)
    return ImageTable(images=images, labels=labels.astype(np.int64), identifiers=tuple(paths), **columns)


def class_folder_table(root: Path, found: "loading.ClassFolders", **columns: Any) -> ImageTable:
    return photo_table(root, found.paths, found.labels, class_names=found.names, notes=found.notes, **columns)


def _kept(table: ImageTable, rows: np.ndarray, images: ImageFiles) -> ImageTable:
    """Return some rows only; classes left without an image go, and the others are renumbered."""
    kept, labels = np.unique(table.labels[rows], return_inverse=True)
    sets = None if table.label_sets is None else table.label_sets[rows]
    if sets is not None:
        kept = np.flatnonzero(sets.any(0))
        sets, labels = sets[:, kept], np.searchsorted(kept, table.labels[rows])
    names = ("official_test", "super_labels", "wider_labels", "listed_parts", "is_query", "is_gallery", "groups")
    some: dict[str, Any] = {name: column[rows] for name in names if (column := getattr(table, name)) is not None}
    assert table.identifiers is not None
    return replace(
        table,
        images=images,
        identifiers=tuple(table.identifiers[row] for row in rows),
        labels=labels.astype(np.int64),
        class_names=tuple(table.class_names[label] for label in kept),
        label_sets=sets,
        **some,
    )


class PhotoDataset(Dataset):
    """A data set whose images are files. `photos` says which; `load` makes sure of them.

    `prepared` is the shorter side of images prepared once and kept, 0 to decode them whenever asked; `draft` shrinks
    JPEGs while decoding, faster and a little different.
    """

    #: where the data can be had
    source: ClassVar[str] = ""
    #: whether files that are not there may be left out
    subset: bool = False

    def __init__(self, *, root: str, prepared: int = 0, draft: bool = False) -> None:
        self.root, self.prepared, self.draft = root, prepared, draft
        self.name = type(self).__module__.rpartition(".")[2]
        allowed = "0 (decode whenever asked) or the shorter side in 16..4096 that images are prepared to"
        is_right = prepared == 0 or 16 <= prepared <= 4096
        require(is_right, f"{self.name}.prepared must be {allowed}; got {prepared}")

    def folder(self) -> Path:
        """Return the folder `root`, or say where the data is to be had; nothing is downloaded."""
        path = Path(self.root).expanduser()
        require(bool(self.root), f"{self.name}.root must be the folder of the data. {self.source}", DataError)
        loading.refuse_archive(path)
        require(path.is_dir(), f"{self.name}.root: there is no folder '{path}'. {self.source}", DataError)
        return path

    @abstractmethod
    def photos(self) -> ImageTable:
        """Return the table of the files there should be; its images are `ImageFiles`."""

    def load(self) -> ImageTable:
        table = self.photos()
        files = table.images
        assert isinstance(files, ImageFiles)
        is_there = np.array([os.path.isfile(path) for path in files.paths], dtype=bool)  # noqa: PTH113 (twice as fast)
        there, missing = np.flatnonzero(is_there), np.flatnonzero(~is_there)
        boxes = None if files.boxes is None else files.boxes[there]
        images = ImageFiles([files.paths[row] for row in there], root=files.root, boxes=boxes, draft=self.draft)
        if len(missing):
            assert table.identifiers is not None
            names = ", ".join(shown(table.identifiers[row]) for row in missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            told = f"{len(missing)} of {len(is_there)} images are not in {files.root}: {names}{more}"
            advice = "Unpack the archive again, remove broken links, or leave them out of the list"
            require(self.subset, f"{told}. {advice}", DataError)
            require(len(there) > 0, f"none of the listed images is in {files.root}", DataError)
            note = f"data: {len(missing)} of {len(is_there)} listed images are not there and were left out"
            table = replace(_kept(table, there, images), notes=(*table.notes, note))
        return replace(table, images=loading.PreparedImages(images, side=self.prepared) if self.prepared else images)


class OfficialDataset(PhotoDataset):
    """A published data set with known counts. `find` looks for its files below a folder; nothing is downloaded.

    `subset` takes a part of the data set for what it is.
    """

    #: the name in sentences
    title: ClassVar[str]
    official: ClassVar[Counts]

    def __init__(self, *, root: str, prepared: int = 0, draft: bool = False, subset: bool = False) -> None:
        super().__init__(root=root, prepared=prepared, draft=draft)
        self.subset = subset

    @abstractmethod
    def find(self, root: Path) -> ImageTable:
        """Return the images below an existing folder, the published test half marked."""

    def photos(self) -> ImageTable:
        """Return the images if there are as many as published; noted where they are a subset, refused otherwise."""
        table = self.find(self.folder())
        assert table.official_test is not None
        halves = [table.labels[table.official_test == is_test] for is_test in (False, True)]
        found = Counts(*(count for half in halves for count in (len(np.unique(half)), len(half))))
        if found == self.official:
            return table
        wanted, got = (
            f"{counts.train_classes} + {counts.test_classes} classes with {counts.train_images} + {counts.test_images} "
            "images (train + test)"
            for counts in (self.official, found)
        )
        told = f"{self.title} has {wanted}; this copy has {got}. Unpack the archive again"
        part = "set data.subset=true if this is a part of it on purpose; its scores are then not those of the benchmark"
        require(self.subset, f"{told}, or {part}", DataError)
        return replace(table, notes=(*table.notes, f"data: a subset of {self.title}: {got}, instead of {wanted}"))

    def class_folders(self, places: Sequence[Path], lists: str) -> "tuple[Path, loading.ClassFolders]":
        """Return the first of some places with class folders, and what they hold, where the official lists are not."""
        folder = next((place for place in places if place.is_dir() and loading.sub_folders(place)), places[-1])
        found = loading.scan_classes(folder)
        complaint = f"{self.name}.root: no {lists} and no class folders in {places[-1]}. {self.source}"
        require(len(found.paths) > 0, complaint, DataError)
        return folder, found


def first_with(places: Sequence[Path], entry: str) -> Path | None:
    return next((place for place in places if (place / entry).exists()), None)


def read_words(path: Path, *, n_words: int, header: int = 0) -> list[list[str]]:
    """Return the words of each line of an official list, its last word taking the rest of the line."""
    lines = read_text(path, error=DataError, encoding="utf-8-sig").splitlines()[header:]
    rows = [line.split(maxsplit=n_words - 1) for line in lines if line.strip()]
    for number, row in enumerate(rows, start=1):
        require(len(row) == n_words, f"{path}: entry {number} has {len(row)} words instead of {n_words}", DataError)
    return [[word.strip() for word in row] for row in rows]


def integers(path: Path, words: list[str]) -> np.ndarray:
    try:
        return np.array([int(word) for word in words], dtype=np.int64)
    except ValueError as error:
        raise DataError(f"{path}: a number was expected: {error}") from error
