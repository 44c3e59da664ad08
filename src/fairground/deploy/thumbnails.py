"""Small pictures of the rows of an index, as PNG or JPEG."""

import io
from collections.abc import Iterator
from functools import partial

from fairground.contracts.dataset import Images
from fairground.deploy.inputs import BLOCK, Tell
from fairground.loading import for_each, shrunk_picture

#: longer side of a small picture; up to the second size a picture is kept exactly, as PNG
SIDE, _EXACT = 128, 64


def thumbnails(images: Images, tell: Tell = lambda *_: None) -> Iterator[bytes]:
    """Yield the small picture of each row in order; empty bytes for features."""
    for begin in range(0, len(images), BLOCK):
        rows = range(begin, min(begin + BLOCK, len(images)))
        yield from for_each(partial(thumbnail, images), rows) if images.is_picture else [b""] * len(rows)
        tell(rows.stop, len(images))


def thumbnail(images: Images, row: int) -> bytes:
    """Return one picture as a small PNG or JPEG."""
    picture, _ = shrunk_picture(images, row, SIDE)
    is_small = max(picture.size) <= _EXACT
    if not is_small:
        picture.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    picture.save(out, "PNG") if is_small else picture.save(out, "JPEG", quality=82)
    return out.getvalue()
