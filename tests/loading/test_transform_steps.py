"""Crop boxes, resizing and colours: torchvision's and Pillow's."""

import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance
from torch import Tensor

from fairground.errors import InputError
from fairground.loading import transform_steps as steps
from fairground.trunks.timm import import_torchvision
from tests.loading.pictures import photo

import_torchvision()
from torchvision import transforms  # noqa: E402

N = 50


def boxes_of(height: int, width: int, *, area: tuple[float, float], ratio: tuple[float, float]) -> np.ndarray:
    sizes = np.tile([height, width], (N, 1))
    return steps.random_resized_boxes(sizes, torch.Generator().manual_seed(3), area=area, ratio=ratio)


def test_where_no_box_fits_the_middle_is_taken() -> None:
    wide = boxes_of(10, 1000, area=(0.9, 1.0), ratio=(3 / 4, 4 / 3))
    assert (wide == [493, 0, 506, 10]).all()  # 10 * 4 / 3 = 13 wide, (1000 - 13) // 2 = 493
    tall = boxes_of(1000, 10, area=(0.9, 1.0), ratio=(3 / 4, 4 / 3))
    assert (tall == [0, 493, 10, 506]).all()
    assert (boxes_of(1, 1, area=(0.08, 1.0), ratio=(3 / 4, 4 / 3)) == [0, 0, 1, 1]).all()
    assert boxes_of(1, 5000, area=(0.9, 1.0), ratio=(3 / 4, 4 / 3))[0].tolist() == [2499, 0, 2500, 1]


def test_the_arithmetic_is_that_of_a_slow_loop() -> None:
    sizes = np.array([[375, 500], [120, 90], [20, 400]])
    area, ratio = (0.08, 1.0), (3 / 4, 4 / 3)
    found = steps.random_resized_boxes(sizes, torch.Generator().manual_seed(0), area=area, ratio=ratio)
    generator = torch.Generator().manual_seed(0)
    tries = torch.rand(10, 3, 2, generator=generator).tolist()
    places = torch.rand(3, 2, generator=generator).tolist()
    for number, (height, width) in enumerate(sizes.tolist()):
        wanted = None
        for attempt in tries:
            target = height * width * (area[0] + (area[1] - area[0]) * attempt[number][0])
            low, high = math.log(ratio[0]), math.log(ratio[1])
            aspect = math.exp(low + (high - low) * attempt[number][1])
            w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
            if 0 < w <= width and 0 < h <= height:
                top, left = int(places[number][0] * (height - h + 1)), int(places[number][1] * (width - w + 1))
                wanted = [left, top, left + w, top + h]
                break
        if wanted is None:
            w = min(width, round(height * ratio[1]))
            wanted = [(width - w) // 2, 0, (width - w) // 2 + w, height]
        assert found[number].tolist() == wanted


@pytest.mark.parametrize("size", [(256, 341), (257, 256), (259, 258), (300, 227), (258, 1000)])
def test_central_boxes_are_torchvisions(size: tuple[int, int]) -> None:
    height, width = size
    pixels = np.arange(height * width, dtype=np.int32).reshape(height, width)
    wanted = np.asarray(transforms.CenterCrop(227)(Image.fromarray(pixels)))
    left, top, right, bottom = steps.central_boxes(np.array([size]), 227)[0]
    assert np.array_equal(pixels[top:bottom, left:right], wanted)


def triangles(n_in: int, n_out: int) -> np.ndarray:
    """The weights (n_out, n_in) of a triangle as wide as the pixels it covers."""
    scale = n_in / n_out
    gaps = np.abs(np.arange(n_in) + 0.5 - (np.arange(n_out)[:, None] + 0.5) * scale)
    weights = np.clip(1 - gaps / max(scale, 1.0), 0, None)
    return weights / weights.sum(1, keepdims=True)


def test_crops_are_resized_by_triangles_first_along_rows_and_then_along_columns() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (60, 81, 3), np.uint8)
    for _ in range(150):
        width, height = int(rng.integers(1, 82)), int(rng.integers(1, 61))
        left, top = int(rng.integers(0, 82 - width)), int(rng.integers(0, 61 - height))
        side = int(rng.choice([1, 7, 32, 100]))
        out = np.empty((side, side, 3), np.uint8)
        steps.cut(pixels, (left, top, left + width, top + height), out)
        piece = pixels[top : top + height, left : left + width].astype(np.float64)
        rows = np.rint(np.einsum("ox,yxc->yoc", triangles(width, side), piece))
        wanted = np.einsum("oy,yxc->oxc", triangles(height, side), rows)
        assert np.abs(out - wanted).max() < 1.6  # each of two roundings may go the other way


@pytest.mark.parametrize("box", [(-1, 0, 5, 5), (0, 0, 11, 5), (0, 0, 5, 11), (3, 3, 3, 5), (5, 0, 2, 5)])
def test_boxes_outside_the_image_are_refused(box: tuple[int, int, int, int]) -> None:
    with pytest.raises(InputError, match="does not lie within an image 10 wide and 10 high"):
        steps.cut(np.zeros((10, 10, 3), np.uint8), box, np.empty((4, 4, 3), np.uint8))


PICTURES = [photo(24, 24, seed=seed) for seed in range(3)]
PICTURES.append(Image.fromarray(np.random.default_rng(0).integers(0, 256, (24, 24, 3), np.uint8)))
FACTORS = [0.8, 0.93, 1.0, 1.2]


def batch(images: list[Image.Image]) -> Tensor:
    return torch.stack([torch.from_numpy(np.array(image)).permute(2, 0, 1) for image in images])


def draws_for(images: Tensor, seed: int = 0) -> Tensor:
    return steps.jitter_draws(len(images), torch.Generator().manual_seed(seed))


def test_gray_is_pillows() -> None:
    wanted = [np.array(image.convert("L")) for image in PICTURES]
    assert np.array_equal(steps.gray(batch(PICTURES))[:, 0].numpy(), np.stack(wanted))


@pytest.mark.parametrize(
    ("change", "kind"),
    [("brighten", ImageEnhance.Brightness), ("contrast", ImageEnhance.Contrast), ("saturate", ImageEnhance.Color)],
)
def test_each_change_is_pillows(change, kind) -> None:
    found = getattr(steps, change)(batch(PICTURES), torch.tensor(FACTORS))
    wanted = [kind(image).enhance(factor) for image, factor in zip(PICTURES, FACTORS, strict=True)]
    assert torch.equal(found, batch(wanted))


@pytest.mark.parametrize("turn", [-0.2, 0.0, 0.11, 0.5])
def test_a_turned_hue_is_pillows_but_for_a_pixel_in_a_hundred(turn: float) -> None:
    wanted = []
    for image in PICTURES:
        hue, saturation, value = image.convert("HSV").split()
        turned = ((np.array(hue).astype(int) + int(turn * 255)) % 256).astype(np.uint8)
        wanted.append(Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert("RGB"))
    gap = (steps.turn_hue(batch(PICTURES), torch.full((4,), turn)).int() - batch(wanted).int()).abs()
    assert (gap > 0).float().mean() < 0.01
    assert gap.max() <= 7  # one step of 255 on the circle of six sides


def test_jitter_draws_factors_and_orders_in_the_stated_ranges() -> None:
    # A mid gray answers to brightness alone, so its level is the factor.
    images = torch.full((3000, 3, 1, 1), 100, dtype=torch.uint8)
    found = steps.jitter(images.clone(), (0.2, 0.2, 0.2, 0.2), draws_for(images))[:, 0, 0, 0]
    assert found.min() == 80
    assert int(found.max()) in {119, 120}
    assert found.float().mean().item() == pytest.approx(99.5, abs=0.7)
    plain = batch(PICTURES)
    assert torch.equal(steps.jitter(plain.clone(), (0.0, 0.0, 0.0, 0.0), draws_for(plain)), plain)


def test_jitter_applies_its_changes_in_either_order() -> None:
    # Brightening by up to 2 clips at white before or after contrast is lost: the two orders differ.
    images = batch(PICTURES[:1]).expand(400, -1, -1, -1).clone()
    found = steps.jitter(images, (1.0, 1.0, 0.0, 0.0), draws_for(images, seed=1))
    draws = torch.rand(8, 400, generator=torch.Generator().manual_seed(1))
    for number in (0, 1, 2, 3, 4, 5):
        factors = 2 * draws[4:6, number]
        one = batch(PICTURES[:1])
        changes = [lambda x, f=factors[0:1]: steps.brighten(x, f), lambda x, f=factors[1:2]: steps.contrast(x, f)]
        order = draws[:4, number].argsort().tolist()
        for step in (place for place in order if place < 2):
            one = changes[step](one)
        assert torch.equal(found[number], one[0])
