"""Data that a Python program has: a data set of torch, torchvision or Hugging Face, or a pair of images and labels.

All images are looked at once, which gives their labels, sizes and a hash of their bytes.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from fairground.contracts import DataError, Dataset, ImageTable, require
from fairground.loading import FeatureRows, ImagesInMemory, Photographs, for_each, photo_table, transform_steps

#: images of one size that take no more than this are kept in memory
_KEPT_BYTES = 2**30
#: what columns of images and labels are called
_IMAGE_COLUMNS = ("image", "img", "features", "embeddings", "embedding")
_LABEL_COLUMNS = ("label", "labels", "target", "fine_label")
#: row -> image; row -> label; the names of the labels where they are known
_Items = tuple[Callable[[int], Any], Callable[[int], Any], Sequence[str] | None]


class ObjectDataset(Dataset):
    """`data` gives (image, label) by number, or is a tuple (images, labels) of arrays or lists.

    An image is a path, a picture of Pillow, an array in bytes or in floats from 0 to 1, or a vector of features.
    """

    def __init__(self, data: Any) -> None:
        self._table = _table(data)
        names = repr((self._table.images.fingerprint(), self._table.class_names)).encode()
        self.digest = hashlib.sha256(names + self._table.labels.tobytes()).hexdigest()

    def version(self) -> tuple[str | int, ...] | None:
        return (self.digest,)

    def load(self) -> ImageTable:
        return self._table


class ImagesOnDemand(Photographs):
    """Images of any size that a function gives by row as uint8 (c, h, w); `digest` is that of all their bytes."""

    def __init__(self, get: Callable[[int], np.ndarray], sizes: np.ndarray, channels: int, digest: str) -> None:
        self._get, self._sizes, self.channels, self._digest = get, sizes, channels, digest

    def __len__(self) -> int:
        return len(self._sizes)

    def pixels(self, row: int) -> np.ndarray:
        return np.moveaxis(self._planes(row), 0, 2)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> torch.Tensor:
        return transform_steps.crop_batch(for_each(self._planes, np.asarray(rows).tolist()), boxes, side, shorter_side)

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        return transform_steps.resized_sizes(self._sizes[np.asarray(rows)], shorter_side)

    def fingerprint(self) -> str:
        return self._digest

    def _planes(self, row: int) -> np.ndarray:
        found = self._get(row)
        return found if len(found) == self.channels else np.repeat(found, self.channels, 0)


def _table(data: Any) -> ImageTable:
    if isinstance(data, tuple) and len(data) == 2 and np.ndim(data[0]) == 2 and hasattr(data[0], "shape"):
        images = FeatureRows(_array(data[0]), origin="the data")
        return ImageTable(images=images, **_classes(_array(data[1]), None, len(images)))
    n, (image, label, names) = _items(data)
    require(n > 0, "the data set is empty", DataError)
    first = image(0)
    if isinstance(first, str | os.PathLike):
        paths = [Path(image(row)).expanduser().absolute() for row in range(n)]
        root = Path(os.path.commonpath([path.parent for path in paths]))
        columns = _classes(np.array([label(row) for row in range(n)]), names, n)
        return photo_table(root, [str(path.relative_to(root)) for path in paths], **columns)
    is_steady = np.array_equal(_pixels(first), _pixels(image(0)))
    advice = "leave random changes out of the data set and pass them as transform="
    require(is_steady, f"the data set gave two different images for item 0; {advice}", DataError)
    shapes, labels, digest = [], [], hashlib.sha256()
    kept: list[np.ndarray] = []
    for row in range(n):
        pixels = _pixels(image(row))
        shapes.append(pixels.shape)
        labels.append(label(row))
        digest.update(f"{pixels.shape} {pixels.dtype.str}".encode() + np.ascontiguousarray(pixels).tobytes())
        if len(kept) == row and pixels.shape == shapes[0] and (row + 1) * pixels.nbytes <= _KEPT_BYTES:
            kept.append(pixels)
    columns = _classes(np.array(labels), names, n)
    if len(shapes[0]) == 1:
        require(len(kept) == n, "features of a data set must be of one width and fit into memory", DataError)
        return ImageTable(images=FeatureRows(np.stack(kept), origin="the data"), **columns)
    if len(kept) == n:
        return ImageTable(images=ImagesInMemory(np.stack(kept)), **columns)
    sizes, channels = np.array([shape[1:] for shape in shapes]), max(shape[0] for shape in shapes)
    lazy = ImagesOnDemand(lambda row: _pixels(image(row)), sizes, channels, digest.hexdigest())
    return ImageTable(images=lazy, **columns)


def _items(data: Any) -> tuple[int, _Items]:
    if isinstance(data, tuple) and len(data) == 2:
        images, labels = data[0], _array(data[1])
        require(len(images) == len(labels), f"{len(images)} images but {len(labels)} labels", DataError)
        return len(images), (lambda row: images[row], lambda row: labels[row], None)
    is_map = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    advice = " (of a DataLoader, pass its .dataset)" if hasattr(data, "dataset") else ""
    kinds = "a data set of items (image, label) by number with a length, or a tuple (images, labels)"
    require(is_map, f"data must be a name, or {kinds}; got {type(data).__name__}{advice}", DataError)
    if hasattr(data, "column_names"):
        picture, number = (_column(data.column_names, known) for known in (_IMAGE_COLUMNS, _LABEL_COLUMNS))
        column = list(data[number])
        names = getattr(data.features[number], "names", None)
        return len(data), (lambda row: data[row][picture], lambda row: column[row], names)
    names = getattr(data, "classes", None)
    if getattr(data, "samples", None) and not (getattr(data, "transform", 1) or getattr(data, "target_transform", 1)):
        # Folders of torchvision: the files themselves, decoded in threads as our own are.
        return len(data), (lambda row: data.samples[row][0], lambda row: data.samples[row][1], names)
    return len(data), (lambda row: data[row][0], lambda row: data[row][1], names)


def _column(names: Sequence[str], known: Sequence[str]) -> str:
    found = [name for name in known if name in names]
    refusal = f"the data set must have a column {' or '.join(known)}; it has {', '.join(names)}"
    require(len(found) > 0, refusal, DataError)
    return found[0]


def _classes(labels: np.ndarray, names: Sequence[str] | None, n: int) -> dict[str, Any]:
    """Return labels as 0..C-1 with the names of the classes, as a table has them."""
    is_right = labels.shape == (n,) and labels.dtype.kind in "iuUS"
    refusal = f"labels must be {n} whole numbers or words; got {labels.dtype} of shape {labels.shape}"
    require(is_right, refusal, DataError)
    found, numbers = np.unique(labels, return_inverse=True)
    is_named = names is not None and found.dtype.kind in "iu" and found[0] >= 0 and found[-1] < len(names)
    called = [names[label] if names is not None and is_named else label for label in found.tolist()]
    return {"labels": numbers.astype(np.int64), "class_names": tuple(map(str, called))}


def _pixels(image: Any) -> np.ndarray:
    if isinstance(image, Image.Image):
        image = np.asarray(image if image.mode == "L" else image.convert("RGB"))
    pixels = _array(image)
    if pixels.ndim == 1:
        return pixels
    require(pixels.ndim in (2, 3), f"an image must have 2 or 3 dimensions; got shape {pixels.shape}", DataError)
    if pixels.ndim == 2:
        pixels = pixels[None]
    elif pixels.shape[0] not in (1, 3) and pixels.shape[2] in (1, 3):
        pixels = np.moveaxis(pixels, 2, 0)
    if pixels.dtype.kind == "f":
        is_share = pixels.size > 0 and float(pixels.min()) >= 0 and float(pixels.max()) <= 1
        refusal = "images in floats must be between 0 and 1, before any normalisation"
        require(is_share, f"{refusal}; got {pixels.min()} to {pixels.max()}", DataError)
        pixels = np.rint(pixels * 255).astype(np.uint8)
    refusal = f"images must be bytes (uint8) or floats from 0 to 1; got {pixels.dtype}"
    require(pixels.dtype == np.uint8, refusal, DataError)
    return np.ascontiguousarray(pixels)


def _array(values: Any) -> np.ndarray:
    return np.asarray(values.detach().cpu() if isinstance(values, torch.Tensor) else values)
