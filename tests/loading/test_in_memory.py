import numpy as np
import pytest
import torch

from fairground.errors import DataError
from fairground.loading.image_dataset import ImagesInMemory


def numbered(n=5, channels=2):
    return np.arange(n * channels * 6, dtype=np.uint8).reshape(n, channels, 2, 3)


@pytest.mark.parametrize("rows", [np.array([3, 0, 3]), np.array([3, 0, 3], dtype=np.int32), torch.tensor([3, 0, 3])])
def test_rows_come_in_the_order_asked_for(rows):
    taken = ImagesInMemory(numbered()).take(rows)
    assert taken.dtype == torch.uint8
    assert (taken.numpy() == numbered()[[3, 0, 3]]).all()


def test_what_is_taken_can_be_changed_without_changing_the_data():
    images = ImagesInMemory(numbered())
    before = images.fingerprint()
    images.take(np.array([0, 1])).zero_()
    assert images.fingerprint() == before
    assert len(images) == 5


def test_the_fingerprint_sees_every_pixel_and_the_shape():
    pixels = numbered()
    changed = pixels.copy()
    changed[-1, -1, -1, -1] ^= 1
    prints = {ImagesInMemory(p).fingerprint() for p in (pixels, changed, pixels.reshape(5, 2, 3, 2))}
    assert len(prints) == 3
    assert ImagesInMemory(numbered()).fingerprint() in prints


def test_other_arrays_are_refused():
    with pytest.raises(DataError, match=r"images in memory are \(n, channels, height, width\); got \(5, 2, 2\)"):
        ImagesInMemory(np.zeros((5, 2, 2), np.uint8))
    with pytest.raises(DataError, match="images in memory are uint8; got float32"):
        ImagesInMemory(np.zeros((5, 1, 2, 2), np.float32))
