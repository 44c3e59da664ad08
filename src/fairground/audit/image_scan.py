"""Every image of a data set read once: the hash of its content, its fingerprint and its size.

A file that cannot be read is recorded with the reason, and the scan goes on. Looks are a fingerprint of 256 bits: bit
(r, c) is set if pixel (r, c + 1) of the image, shrunk to 16 rows of 17 gray pixels, is brighter than pixel (r, c).
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from fairground.contracts import DataError, Images, read_bytes
from fairground.loading import ImageFiles, for_each, shrunk_picture

#: shades of gray (of 255) a difference must exceed: the noise of flat areas must not decide bits
_MARGIN = 2.0
#: called with the number of images done and the number of images
Progress = Callable[[int, int], None]
#: images scanned at once
_SCANNED = 256
#: JPEGs are decoded shrunk, to no less than this on the shorter side: a fingerprint is 16 pixels high
_ENOUGH, _SIDE = 64, 16


@dataclass(frozen=True, kw_only=True)
class ImageScan:
    """For each image a hash, and of pictures bits (n, 4) and sizes (n, 2); `faults` are those that cannot be read."""

    hashes: np.ndarray
    bits: np.ndarray | None = None
    sizes: np.ndarray | None = None
    faults: Mapping[int, str] = field(default_factory=dict)


def scan_images(images: Images, progress: Progress = lambda *_: None) -> ImageScan:
    """Read every image once, in threads, a bounded block at a time."""
    n = len(images)
    hashes, bits, sizes = np.zeros(n, "S16"), np.zeros((n, 4), np.uint64), np.zeros((n, 2), np.int64)
    faults: dict[int, str] = {}

    def scan(row: int) -> None:
        try:
            # One byte is enough to keep numpy from cutting zeros off the end of a hash.
            if isinstance(images, ImageFiles):
                content = read_bytes(images.paths[row], error=DataError)
                content += b"" if images.boxes is None else images.boxes[row].tobytes()
            else:
                content = np.ascontiguousarray(images.take(np.array([row]))[0].numpy()).tobytes()
            hashes[row] = hashlib.blake2b(content, digest_size=15).digest() + b"."
            if images.is_picture:
                picture, sizes[row] = shrunk_picture(images, row, _ENOUGH)
                bits[row] = fingerprint_bits(picture)
        except DataError as error:
            faults[row] = str(error)

    for begin in range(0, n, _SCANNED):
        end = min(begin + _SCANNED, n)
        for_each(scan, range(begin, end))
        progress(end, n)
    seen = {"bits": bits, "sizes": sizes} if images.is_picture else {}
    return ImageScan(hashes=hashes, **seen, faults=dict(sorted(faults.items())))


def fingerprint_bits(image: Image.Image) -> np.ndarray:
    small = image.convert("L").resize((_SIDE + 1, _SIDE), Image.Resampling.BILINEAR)
    shades = np.asarray(small, dtype=np.float32)
    return np.packbits((np.diff(shades, axis=1) > _MARGIN).reshape(-1)).view(np.uint64)
