"""Colours change by Pillow's arithmetic, level by level."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance
from torch import Tensor

from fairground.loading.transform_steps import brighten, contrast, gray, jitter, jitter_draws, saturate, turn_hue
from tests.loading.pictures import photo

PICTURES = [photo(24, 24, seed=seed) for seed in range(3)]
PICTURES.append(Image.fromarray(np.random.default_rng(0).integers(0, 256, (24, 24, 3), np.uint8)))
FACTORS = [0.8, 0.93, 1.0, 1.2]


def batch(images: list[Image.Image]) -> Tensor:
    return torch.stack([torch.from_numpy(np.array(image)).permute(2, 0, 1) for image in images])


def draws_for(images: Tensor, seed: int = 0) -> Tensor:
    return jitter_draws(len(images), torch.Generator().manual_seed(seed))


def test_gray_is_pillows() -> None:
    wanted = [np.array(image.convert("L")) for image in PICTURES]
    assert np.array_equal(gray(batch(PICTURES))[:, 0].numpy(), np.stack(wanted))


@pytest.mark.parametrize(
    ("change", "kind"),
    [(brighten, ImageEnhance.Brightness), (contrast, ImageEnhance.Contrast), (saturate, ImageEnhance.Color)],
)
def test_each_change_is_pillows(change, kind) -> None:
    found = change(batch(PICTURES), torch.tensor(FACTORS))
    wanted = [kind(image).enhance(factor) for image, factor in zip(PICTURES, FACTORS, strict=True)]
    assert torch.equal(found, batch(wanted))


@pytest.mark.parametrize("turn", [-0.2, 0.0, 0.11, 0.5])
def test_a_turned_hue_is_pillows_but_for_a_pixel_in_a_hundred(turn: float) -> None:
    wanted = []
    for image in PICTURES:
        hue, saturation, value = image.convert("HSV").split()
        turned = ((np.array(hue).astype(int) + int(turn * 255)) % 256).astype(np.uint8)
        wanted.append(Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert("RGB"))
    gap = (turn_hue(batch(PICTURES), torch.full((4,), turn)).int() - batch(wanted).int()).abs()
    assert (gap > 0).float().mean() < 0.01
    assert gap.max() <= 7  # one step of 255 on the circle of six sides


def test_jitter_draws_factors_and_orders_in_the_stated_ranges() -> None:
    # A mid gray answers to brightness alone, so its level is the factor.
    images = torch.full((3000, 3, 1, 1), 100, dtype=torch.uint8)
    found = jitter(images.clone(), (0.2, 0.2, 0.2, 0.2), draws_for(images))[:, 0, 0, 0]
    assert found.min() == 80
    assert int(found.max()) in {119, 120}
    assert found.float().mean().item() == pytest.approx(99.5, abs=0.7)
    plain = batch(PICTURES)
    assert torch.equal(jitter(plain.clone(), (0.0, 0.0, 0.0, 0.0), draws_for(plain)), plain)


def test_jitter_applies_its_changes_in_either_order() -> None:
    # Brightening by up to 2 clips at white before or after contrast is lost: the two orders differ.
    images = batch(PICTURES[:1]).expand(400, -1, -1, -1).clone()
    found = jitter(images, (1.0, 1.0, 0.0, 0.0), draws_for(images, seed=1))
    draws = torch.rand(8, 400, generator=torch.Generator().manual_seed(1))
    for number in (0, 1, 2, 3, 4, 5):
        factors = 2 * draws[4:6, number]
        one = batch(PICTURES[:1])
        steps = [lambda x, f=factors[0:1]: brighten(x, f), lambda x, f=factors[1:2]: contrast(x, f)]
        order = draws[:4, number].argsort().tolist()
        for step in (place for place in order if place < 2):
            one = steps[step](one)
        assert torch.equal(found[number], one[0])
