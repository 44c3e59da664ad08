"""How every image is cut and resized: Pillow's antialiased bilinear filter, as both papers' pipelines used it."""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from fairground.errors import DataError, require


def resized_size(size: tuple[int, int], shorter_side: int | None) -> tuple[int, int]:
    """Return height and width once the shorter side is `shorter_side`; the longer one is rounded down."""
    height, width = size
    if shorter_side is None or min(size) == shorter_side:
        return size
    if height <= width:
        return shorter_side, max(1, int(shorter_side * width / height))
    return max(1, int(shorter_side * height / width)), shorter_side


def resized_sizes(sizes: np.ndarray, shorter_side: int | None) -> np.ndarray:
    """Return height and width (k, 2) of images of these sizes once their shorter side is `shorter_side`."""
    if shorter_side is None:
        return sizes
    return np.array([resized_size((int(h), int(w)), shorter_side) for h, w in sizes]).reshape(-1, 2)


def require_one_size(sizes: np.ndarray) -> None:
    """Refuse images that cannot be stacked."""
    require(
        len(sizes) > 0 and bool((sizes == sizes[0]).all()),
        "photographs of different sizes cannot be stacked whole; use a transform that cuts, such as plain",
        DataError,
    )


def resize_shorter_side(image: Image.Image, shorter_side: int | None) -> Image.Image:
    """Return the image with its shorter side resized, or as it is."""
    height, width = resized_size((image.height, image.width), shorter_side)
    is_same = (width, height) == image.size
    return image if is_same else image.resize((width, height), Image.Resampling.BILINEAR)


def crop_image(image: Image.Image, box: Sequence[int], side: int) -> np.ndarray:
    """Return a box of an image, resized to a square: uint8 (c, side, side)."""
    left, top, right, bottom = (int(edge) for edge in box)
    # First cut, then resized: the filter must not look past the box, or the crop would know what lies beside it.
    piece = image if (left, top, right, bottom) == (0, 0, *image.size) else image.crop((left, top, right, bottom))
    if piece.size != (side, side):
        piece = piece.resize((side, side), Image.Resampling.BILINEAR)
    pixels = np.asarray(piece)
    return pixels[np.newaxis] if pixels.ndim == 2 else np.moveaxis(pixels, 2, 0)


def crop_batch(
    images: Sequence[np.ndarray], boxes: np.ndarray, side: int, *, shorter_side: int | None = None
) -> Tensor:
    """Return one box (k, 4) of each uint8 image (c, h, w), resized to a square: uint8 (k, c, side, side).

    Laid out channels last, as networks on photographs want them.
    """
    pixels = np.empty((len(boxes), side, side, images[0].shape[0]), np.uint8)
    for number, (source, box) in enumerate(zip(images, boxes, strict=True)):
        whole = np.moveaxis(source, 0, 2)
        image = Image.fromarray(np.ascontiguousarray(whole[:, :, 0] if whole.shape[2] == 1 else whole))
        pixels[number] = np.moveaxis(crop_image(resize_shorter_side(image, shorter_side), box, side), 0, 2)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)
