"""Every image of a data set scanned once: whether it is readable, how large, the same as another, or nearly so.

A file that cannot be read is recorded with the reason, and the scan goes on.

Looks are a fingerprint of 256 bits: bit (r, c) is set if pixel (r, c + 1) of the image, shrunk to 16 rows of 17 gray
pixels, is brighter than pixel (r, c).
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

from fairground.contracts.table import Images
from fairground.errors import DataError
from fairground.files import read_bytes, shown
from fairground.loading.decoding import for_each, open_picture, picture_size
from fairground.loading.image_dataset import ImageFiles

#: called with the number of images done and the number of images
Progress = Callable[[int, int], None]
#: images scanned at once
_BLOCK = 256
#: JPEGs are decoded shrunk, to no less than this on the shorter side: a fingerprint is 16 pixels high
_ENOUGH = 64
_SIDE = 16
#: shades of gray (of 255) a difference must exceed: the noise of flat areas must not decide bits
_MARGIN = 2.0


@dataclass(frozen=True, kw_only=True)
class ImageScan:
    """For each image (n): a hash of its content, its fingerprint of bits (n, 4), and height and width (n, 2).

    `faults` says what is wrong with those that cannot be read. Features have no bits and no sizes.
    """

    hashes: np.ndarray
    bits: np.ndarray | None
    sizes: np.ndarray | None
    faults: Mapping[int, str] = field(default_factory=dict)


def scan_files(files: ImageFiles, progress: Progress = lambda *_: None) -> ImageScan:
    """Read every file once, decoding in threads, a bounded block at a time."""
    n = len(files)
    hashes, bits, sizes = np.zeros(n, "S16"), np.zeros((n, 4), np.uint64), np.zeros((n, 2), np.int64)
    faults: dict[int, str] = {}

    def scan(row: int) -> str | None:
        path = files.paths[row]
        try:
            content = hashlib.blake2b(read_bytes(path, error=DataError), digest_size=16)
            if files.boxes is not None:
                content.update(files.boxes[row].tobytes())
            image, size = _shrunk(path) if files.boxes is None else _decoded(files, row)
            # One byte is enough to keep numpy from cutting zeros off the end of a hash.
            hashes[row] = content.digest()[:15] + b"."
            bits[row], sizes[row] = fingerprint_bits(image), size
        except DataError as error:
            return str(error)
        except OSError as error:
            return f"image {shown(path)} cannot be read: {error.strerror}"
        return None

    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        found = for_each(scan, range(begin, end))
        faults.update({begin + number: sentence for number, sentence in enumerate(found) if sentence is not None})
        progress(end, n)
    return ImageScan(hashes=hashes, bits=bits, sizes=sizes, faults=faults)


def scan_memory(images: Images, progress: Progress = lambda *_: None) -> ImageScan:
    """Scan images in memory, or features, which have neither size nor looks."""
    n = len(images)
    hashes = np.zeros(n, "S16")
    bits = np.zeros((n, 4), np.uint64) if images.is_picture else None
    for begin in range(0, n, _BLOCK):
        rows = np.arange(begin, min(begin + _BLOCK, n))
        block = images.take(rows).numpy()
        for row, item in zip(rows, block, strict=True):
            hashes[row] = hashlib.blake2b(np.ascontiguousarray(item).tobytes(), digest_size=15).digest() + b"."
            if bits is not None:
                bits[row] = fingerprint_bits(_as_image(item))
        progress(int(rows[-1]) + 1, n)
    return ImageScan(hashes=hashes, bits=bits, sizes=images.sizes(np.arange(n)) if images.is_picture else None)


def fingerprint_bits(image: Image.Image) -> np.ndarray:
    """Return the fingerprint of an image as 4 whole numbers of 64 bits."""
    small = image.convert("L").resize((_SIDE + 1, _SIDE), Image.Resampling.BILINEAR)
    shades = np.asarray(small, dtype=np.float32)
    return np.packbits((np.diff(shades, axis=1) > _MARGIN).reshape(-1)).view(np.uint64)


def _shrunk(path: Path) -> tuple[Image.Image, tuple[int, int]]:
    size = picture_size(path)
    shrink = max((by for by in (2, 4, 8) if min(size) // by >= _ENOUGH), default=1)
    return open_picture(path, shrink=shrink), size


def _decoded(files: ImageFiles, row: int) -> tuple[Image.Image, tuple[int, int]]:
    image = files.picture(row)
    return image, (image.height, image.width)


def _as_image(pixels: np.ndarray) -> Image.Image:
    """Return an image in memory, (1, h, w) or (3, h, w); of other channels the first."""
    return Image.fromarray(np.ascontiguousarray(np.moveaxis(pixels, 0, 2)) if len(pixels) == 3 else pixels[0])
