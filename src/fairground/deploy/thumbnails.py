"""Small pictures of everything in an index, and of what is searched for."""

import io
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from PIL import Image

from fairground.contracts.table import Images
from fairground.loading.decoding import for_each, open_picture, picture_size
from fairground.loading.image_dataset import ImageFiles

#: longer side of a small picture
SIDE = 128
#: up to this size a picture is kept exactly, as PNG
_EXACT = 64
_BLOCK = 256


def thumbnails(images: Images, tell: Callable[[int, int], None] = lambda *_: None) -> Iterator[bytes]:
    """Yield the small picture of each row in order; empty bytes for features."""
    for begin in range(0, len(images), _BLOCK):
        rows = range(begin, min(begin + _BLOCK, len(images)))
        yield from for_each(partial(thumbnail, images), rows) if images.is_picture else [b""] * len(rows)
        tell(rows.stop, len(images))


def thumbnail(images: Images, row: int) -> bytes:
    """Return one picture as a small PNG or JPEG."""
    picture = _picture(images, row)
    is_small = max(picture.size) <= _EXACT
    if not is_small:
        picture.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    picture.save(out, "PNG") if is_small else picture.save(out, "JPEG", quality=82)
    return out.getvalue()


def _picture(images: Images, row: int) -> Image.Image:
    if isinstance(images, ImageFiles) and images.boxes is None:
        # A JPEG is decoded no larger than a small picture needs.
        by = min(picture_size(images.paths[row])) / SIDE
        return open_picture(images.paths[row], shrink=max((shrink for shrink in (2, 4, 8) if shrink <= by), default=1))
    if isinstance(images, ImageFiles):
        return images.picture(row)
    pixels = images.take(np.array([row]))[0].permute(1, 2, 0).numpy()
    return Image.fromarray(np.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels))
