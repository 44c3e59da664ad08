"""Coloured pictures for a model of gray ones: Pillow's gray, to the last bit."""

import numpy as np
import torch
from PIL import Image

from fairground.deploy.resize import ResizedImages
from fairground.loading.image_dataset import ImagesInMemory


def test_gray_is_pillows_gray():
    colours = np.random.default_rng(0).integers(0, 256, (3, 16, 20, 3), dtype=np.uint8)
    images = ImagesInMemory(np.ascontiguousarray(colours.transpose(0, 3, 1, 2)))
    wanted = np.stack([np.asarray(Image.fromarray(picture).convert("L")) for picture in colours])[:, None]
    fitted = ResizedImages(images, channels=1, size=None)
    found = fitted.take(np.arange(3))
    assert found.dtype == torch.uint8
    assert np.array_equal(found.numpy(), wanted)
    boxes = np.tile([2, 3, 14, 15], (3, 1))
    assert np.array_equal(fitted.crops(np.arange(3), boxes, 12).numpy(), wanted[:, :, 3:15, 2:14])


def test_gray_becomes_three_equal_channels():
    images = ImagesInMemory(np.arange(2 * 4 * 4, dtype=np.uint8).reshape(2, 1, 4, 4))
    found = ResizedImages(images, channels=3, size=None).take(np.arange(2))
    assert found.shape == (2, 3, 4, 4)
    assert bool((found == images.take(np.arange(2))).all())
