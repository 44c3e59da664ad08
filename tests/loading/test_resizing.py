"""Crops are what Pillow's bilinear filter gives along rows and then along columns, to the last bit."""

import numpy as np
import pytest
from PIL import Image

from fairground.errors import InputError
from fairground.loading.transform_steps import cut

BILINEAR = Image.Resampling.BILINEAR


def test_crops_equal_pillow_in_every_bit() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (60, 81, 3), np.uint8)
    for _ in range(150):
        width, height = int(rng.integers(1, 82)), int(rng.integers(1, 61))
        left, top = int(rng.integers(0, 82 - width)), int(rng.integers(0, 61 - height))
        side = int(rng.choice([1, 7, 32, 100]))
        box = (left, top, left + width, top + height)
        out = np.empty((side, side, 3), np.uint8)
        cut(pixels, box, out)
        # One side at a time: recent versions of Pillow choose which goes first.
        wanted = Image.fromarray(pixels).crop(box).resize((side, height), BILINEAR).resize((side, side), BILINEAR)
        assert np.array_equal(out, np.asarray(wanted)), box


def test_crops_differ_from_pillow_in_one_go_by_a_level_at_most() -> None:
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (50, 40, 3), np.uint8)
    for side in (5, 17, 45):
        out = np.empty((side, side, 3), np.uint8)
        cut(pixels, (0, 0, 40, 50), out)
        wanted = np.asarray(Image.fromarray(pixels).resize((side, side), BILINEAR)).astype(int)
        assert np.abs(wanted - out).max() <= 1


@pytest.mark.parametrize("box", [(-1, 0, 5, 5), (0, 0, 11, 5), (0, 0, 5, 11), (3, 3, 3, 5), (5, 0, 2, 5)])
def test_boxes_outside_the_image_are_refused(box: tuple[int, int, int, int]) -> None:
    with pytest.raises(InputError, match="does not lie within an image 10 wide and 10 high"):
        cut(np.zeros((10, 10, 3), np.uint8), box, np.empty((4, 4, 3), np.uint8))
