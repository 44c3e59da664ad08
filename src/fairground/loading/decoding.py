"""Image files to pixels."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

from fairground.errors import PictureError, require
from fairground.files import open_file

# Without a handler Python prints what Pillow says of odd files; the refusal says it where it matters.
logging.getLogger("PIL").addHandler(logging.NullHandler())

#: an image with more pixels would need a gigabyte or so while it is decoded; a small file can claim any number
MAX_PIXELS = 89_478_485
#: formats that hold nothing but pixels; Pillow also opens some by starting other programs, such as Ghostscript
_FORMATS = ("JPEG", "MPO", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM", "AVIF", "JPEG2000", "TGA")
#: how to undo each EXIF orientation
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_LYING = frozenset({5, 6, 7, 8})


def picture_size(path: Path) -> tuple[int, int]:
    """Return height and width of an image as it is seen, from the head of its file alone."""
    with _opened(path) as image:
        width, height = image.size
        return (width, height) if _orientation(image) in _LYING else (height, width)


def open_picture(path: Path, *, shrink: int = 1) -> Image.Image:
    """Return an image file as an RGB image in memory.

    A `shrink` of 2, 4 or 8 lets a JPEG be decoded at that fraction of its size, rounded up: much faster, but not the
    pixels that decoding and then resizing would give. Other formats are decoded whole.
    """
    with _opened(path) as image:
        orientation = _orientation(image)
        if shrink > 1 and image.format in {"JPEG", "MPO"}:
            image.draft(None, (max(1, image.width // shrink), max(1, image.height // shrink)))
        image.load()
        picture = _as_rgb(image, path)
        turn = _TURNS.get(orientation)
        return picture if turn is None else picture.transpose(turn)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open a file and look at its head; whatever Pillow stumbles upon meanwhile becomes one sentence."""
    try:
        with (
            open_file(path, error=PictureError, what=f"image '{path}'") as file,
            Image.open(file, formats=_formats()) as image,
        ):
            width, height = image.size
            require(width > 0 and height > 0, f"image '{path}' has no pixels: it is {width} x {height}", PictureError)
            require(width * height <= MAX_PIXELS, _bomb(path, f"{width} x {height} pixels"), PictureError)
            yield image
    except PictureError:
        raise
    except Image.DecompressionBombError as error:
        raise PictureError(_bomb(path, "more pixels")) from error
    except MemoryError as error:
        raise PictureError(f"image '{path}' does not fit in memory") from error
    except UnidentifiedImageError as error:
        read = ", ".join(_formats())
        raise PictureError(f"image '{path}' is corrupt or of a format that is not read ({read})") from error
    except Exception as error:  # decoders raise whatever they stumble upon in a corrupt file
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        reason = "it is truncated" if "truncated" in reason.lower() else reason
        raise PictureError(f"image '{path}' cannot be read: {reason}") from error


def _bomb(path: Path, claim: str) -> str:
    return f"image '{path}' claims {claim}, but at most {MAX_PIXELS:,} are decoded; resize it first"


def _orientation(image: Image.Image) -> int:
    """Return the EXIF orientation as known from the head of the file, 1 where there is none that can be read."""
    if image.format == "TIFF":
        return 1  # Pillow turns these itself
    try:
        # The base class's: that of PNG would decode the whole image to look behind it.
        return int(Image.Image.getexif(image).get(ExifTags.Base.Orientation, 1))
    except Exception:  # a broken EXIF block says nothing about the pixels, which are fine
        return 1


def _as_rgb(image: Image.Image, path: Path) -> Image.Image:
    mode = image.mode
    if mode == "RGB" and "transparency" not in image.info:
        return image.copy()  # which knows nothing of its file
    if mode.startswith("I;16") or (mode == "I" and image.format in {"PNG", "PPM"}):
        # Pillow's own conversion would clip at 255, which leaves white.
        return Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8)).convert("RGB")
    refusal = f"image '{path}' has pixels of kind {mode}, whose range is unknown"
    require(mode not in {"I", "F", "LAB"}, refusal, PictureError)
    if mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info:
        seen = image.convert("RGBA")
        paper = Image.new("RGB", seen.size, (255, 255, 255))
        paper.paste(seen, mask=seen.getchannel("A"))
        return paper
    return image.convert("RGB")


@cache
def _formats() -> tuple[str, ...]:
    # Naming a format that this build of Pillow lacks would be an error of its own.
    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)
