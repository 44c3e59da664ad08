"""Small pictures of everything in an index, one after another in a file: read one by one, never all."""

import io
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from fairground.contracts.table import Images
from fairground.errors import DataError, require
from fairground.files import reading
from fairground.images.decoding import open_picture, picture_size
from fairground.images.image_files import ImageFiles
from fairground.images.threads import for_each
from fairground.records.npy import map_npy

#: longer side of a small picture
SIDE = 128
#: up to this size a picture is kept exactly, as PNG
_EXACT = 64
_BLOCK = 256


def write_thumbnails(images: Images, folder: Path, tell: Callable[[int, int], None] | None = None) -> None:
    """Write `thumbnails.bin` and `thumbnails.npy`, which says where each picture begins and ends."""
    edges = np.zeros(len(images) + 1, np.int64)
    part = folder / "thumbnails.partial"
    with part.open("wb") as file:
        for begin in range(0, len(images), _BLOCK):
            end = min(begin + _BLOCK, len(images))
            pictures = for_each(partial(thumbnail, images), range(begin, end))
            for number, picture in enumerate(pictures):
                edges[begin + number + 1] = edges[begin + number] + len(picture)
                file.write(picture)
            if tell is not None:
                tell(end, len(images))
    part.replace(folder / "thumbnails.bin")
    np.save(folder / "thumbnails.npy", edges, allow_pickle=False)


def thumbnail(images: Images, row: int) -> bytes:
    """Return one picture as a small PNG or JPEG."""
    picture = _picture(images, row)
    is_small = max(picture.size) <= _EXACT
    if not is_small:
        picture.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    if is_small:
        picture.save(out, "PNG")
    else:
        picture.save(out, "JPEG", quality=82)
    return out.getvalue()


class Thumbnails:
    """The small pictures of an index folder, by row."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "thumbnails.bin"
        self._edges = map_npy(folder / "thumbnails.npy")
        is_list = self._edges.ndim == 1 and self._edges.dtype.kind in "iu"
        require(is_list, f"{folder / 'thumbnails.npy'} is damaged: it must list whole numbers", DataError)

    def __getitem__(self, row: int) -> bytes:
        require(0 <= row < len(self._edges) - 1, f"{self._path} has no small picture of row {row}", DataError)
        begin, end = int(self._edges[row]), int(self._edges[row + 1])
        with reading(self._path, error=DataError) as file:
            is_there = 0 <= begin <= end <= file.seek(0, os.SEEK_END)
            require(is_there, f"{self._path} is damaged: the small picture of row {row} is not there", DataError)
            file.seek(begin)
            return file.read(end - begin)


def _picture(images: Images, row: int) -> Image.Image:
    if isinstance(images, ImageFiles) and images.boxes is None:
        # A JPEG is decoded no larger than a small picture needs.
        by = min(picture_size(images.paths[row])) / SIDE
        return open_picture(images.paths[row], shrink=max((shrink for shrink in (2, 4, 8) if shrink <= by), default=1))
    if isinstance(images, ImageFiles):
        return images.picture(row)
    pixels = images.take(np.array([row]))[0].permute(1, 2, 0).numpy()
    return Image.fromarray(np.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels))
