"""How every image is cut and resized: Pillow's antialiased bilinear filter, as both papers' pipelines used it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from PIL import Image
from torch import Tensor


def resized_size(size: tuple[int, int], shorter_side: int | None) -> tuple[int, int]:
    """Return height and width once the shorter side is `shorter_side`; the longer one is rounded down."""
    height, width = size
    if shorter_side is None or min(size) == shorter_side:
        return size
    if height <= width:
        return shorter_side, max(1, int(shorter_side * width / height))
    return max(1, int(shorter_side * height / width)), shorter_side


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


def crop_each(
    open_image: Callable[[int], Image.Image], boxes: np.ndarray, side: int, channels: int, threads: int = 1
) -> Tensor:
    """Return the box (k, 4) of each opened image as uint8 (k, channels, side, side), laid out channels last."""
    pixels = np.empty((len(boxes), side, side, channels), np.uint8)

    def one(number: int) -> None:
        pixels[number] = np.moveaxis(crop_image(open_image(number), boxes[number], side), 0, 2)

    if threads > 1 and len(boxes) > 1:
        # Pillow lets go of the interpreter while it decodes and resizes.
        list(_pool(threads).map(one, range(len(boxes))))
    else:
        for number in range(len(boxes)):
            one(number)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)


def crop_batch(
    images: Sequence[np.ndarray], boxes: np.ndarray, side: int, *, shorter_side: int | None = None
) -> Tensor:
    """Return one box (k, 4) of each uint8 image (c, h, w), resized to a square: uint8 (k, c, side, side)."""

    def open_image(number: int) -> Image.Image:
        pixels = np.moveaxis(images[number], 0, 2)
        image = Image.fromarray(np.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels))
        return resize_shorter_side(image, shorter_side)

    return crop_each(open_image, boxes, side, images[0].shape[0])


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="fairground-images")
