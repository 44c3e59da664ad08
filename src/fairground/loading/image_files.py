"""Images that stay in their files until they are asked for, and the one way data sets turn paths into images.

Sizes come from the heads of the files, once each. Decoding and resizing are shared out to threads, which changes no
pixel. A file that cannot be read is refused by name at the moment it is asked for; `fairground data check` reads all.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from fairground.contracts.table import Images
from fairground.errors import DataError, PictureError, require
from fairground.files import open_file, shown
from fairground.loading.decoding import open_picture, picture_size
from fairground.loading.prepared import PreparedImages
from fairground.loading.resizing import cut, require_one_size, resize_shorter_side, resized_size, resized_sizes
from fairground.loading.threads import for_each

#: of each file this many bytes at either end are part of the fingerprint
_END_BYTES = 4096


def images_from_files(
    paths: Sequence[Path], *, root: Path, boxes: np.ndarray | None = None, prepared: int = 0, draft: bool = False
) -> Images:
    """Return the images of files under `root`, cut to `boxes` (n, 4) of (left, top, right, bottom) where given.

    A box of four zeros leaves its image whole.

    With `prepared` = 256 they come from a cache of all images resized to that shorter side, built when first needed;
    with 0 each is decoded whenever it is asked for. `draft` allows shrunk decoding of JPEGs, which changes pixels.
    """
    require(prepared >= 0, f"prepared must be 0 (decode on demand) or a shorter side in pixels; got {prepared}")
    files = ImageFiles(paths, root=root, boxes=boxes, draft=draft)
    return PreparedImages(files, side=prepared) if prepared else files


class ImageFiles(Images):
    """Image files decoded on demand, always RGB. `root` is left out of the fingerprint, so that a folder may move."""

    is_slow = True

    def __init__(
        self, paths: Sequence[Path], *, root: Path, boxes: np.ndarray | None = None, draft: bool = False
    ) -> None:
        require(
            boxes is None or boxes.shape == (len(paths), 4),
            f"boxes need four edges an image; got {None if boxes is None else boxes.shape} for {len(paths)} images",
            DataError,
        )
        self.paths = tuple(Path(path) for path in paths)
        self.root = root
        self.boxes = None if boxes is None else np.asarray(boxes, dtype=np.int64)
        # A box could be cut from a shrunk image only between pixels, so these are always decoded whole.
        self.draft = draft and boxes is None
        self._sizes = np.zeros((len(self.paths), 2), np.int64)

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def channels(self) -> int:
        """Every image is brought to RGB."""
        return 3

    def take(self, rows: np.ndarray) -> Tensor:
        """Return the whole images (k, 3, h, w) of `rows`; refused where they differ in size."""
        require_one_size(self.sizes(rows))
        found = for_each(lambda row: np.asarray(self.picture(row)), rows.tolist())
        return torch.from_numpy(np.stack(found)).permute(0, 3, 1, 2)

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        """Return height and width (k, 2) as seen, from the heads of the files where not yet known."""
        rows = np.asarray(rows)
        unknown = np.unique(rows[self._sizes[rows, 0] == 0])
        if len(unknown):
            self._sizes[unknown] = for_each(self._size, unknown.tolist())
        return resized_sizes(self._sizes[rows], shorter_side)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        """Return one box (k, 4) of each image, resized to a square: uint8 (k, 3, side, side)."""
        pixels = np.empty((len(rows), side, side, 3), np.uint8)

        def one(number: int) -> None:
            piece = self._piece(int(rows[number]), boxes[number], side, shorter_side)
            cut(np.asarray(piece), (0, 0, *piece.size), pixels[number])

        for_each(one, range(len(rows)))
        return torch.from_numpy(pixels).permute(0, 3, 1, 2)

    def picture(self, row: int) -> Image.Image:
        """Return the image of a row as RGB, cut to its box."""
        picture = open_picture(self.paths[row])
        box = self._box(row, picture.height, picture.width)
        return picture if box is None else picture.crop(box)

    def resized(self, row: int, shorter_side: int) -> Image.Image:
        """Return the image of a row with its shorter side resized."""
        if not self.draft:
            return resize_shorter_side(self.picture(row), shorter_side)
        height, width = (int(length) for length in self.sizes(np.array([row]))[0])
        picture = open_picture(self.paths[row], shrink=_shrink(min(height, width) / shorter_side))
        height, width = resized_size((height, width), shorter_side)
        return picture.resize((width, height), Image.Resampling.BILINEAR)

    def fingerprint(self) -> str:
        """Return a hash of every file's name under `root`, length, and first and last 4 KiB, and of the boxes.

        Reading whole files would take minutes for a large set; a file changed in its middle alone, at the same length,
        goes unnoticed here.
        """
        distinct = sorted(set(self.paths))
        hashes = dict(zip(distinct, for_each(_ends, distinct), strict=True))
        digest = hashlib.sha256()
        for path in self.paths:
            digest.update(os.path.relpath(path, self.root).encode("utf-8", "surrogateescape"))
            digest.update(b"\0" + hashes[path])
        if self.boxes is not None:
            digest.update(self.boxes.tobytes())
        return digest.hexdigest()

    def _piece(self, row: int, box: np.ndarray, side: int, shorter_side: int | None) -> Image.Image:
        """Return a box of an image, decoded no larger than needed where that is allowed."""
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
        require(
            0 <= left < right <= picture.width and 0 <= top < bottom <= picture.height,
            f"crop ({left}, {top}, {right}, {bottom}) does not lie within image {shown(self.paths[row])}",
        )
        return picture.crop((left, top, right, bottom))

    def _size(self, row: int) -> tuple[int, int]:
        height, width = picture_size(self.paths[row])
        left, top, right, bottom = self._box(row, height, width) or (0, 0, width, height)
        return bottom - top, right - left

    def _box(self, row: int, height: int, width: int) -> tuple[int, int, int, int] | None:
        """Return the box of an image of that size, or none where the whole of it is meant."""
        if self.boxes is None or not self.boxes[row].any():
            return None
        left, top, right, bottom = (int(edge) for edge in self.boxes[row])
        require(
            0 <= left < right <= width and 0 <= top < bottom <= height,
            f"box ({left}, {top}, {right}, {bottom}) does not lie within image {shown(self.paths[row])}, "
            f"which is {width} wide and {height} high",
            DataError,
        )
        return left, top, right, bottom


def _shrink(ratio: float) -> int:
    """Return the strongest shrinking that still leaves at least what is asked for."""
    return max((by for by in (2, 4, 8) if by <= ratio), default=1)


def _ends(path: Path) -> bytes:
    """Return a hash of a file's length and of its first and last bytes."""
    try:
        with open_file(path, error=PictureError, what=f"image '{path}'") as file:
            length = os.fstat(file.fileno()).st_size
            digest = hashlib.sha256(str(length).encode() + b"\0" + file.read(_END_BYTES))
            if length > _END_BYTES:
                file.seek(max(_END_BYTES, length - _END_BYTES))
                digest.update(file.read(_END_BYTES))
    except OSError as error:
        raise PictureError(f"image '{path}' cannot be read: {error.strerror}") from error
    return digest.digest()
