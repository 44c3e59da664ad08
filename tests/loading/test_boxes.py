"""Boxes have torchvision's law: compared with its own draws, and with a slow loop that shares no code."""

import math

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import stats

from fairground.loading.transform_steps import central_boxes, random_resized_boxes
from fairground.trunks._torchvision import import_torchvision

import_torchvision()
from torchvision import transforms  # noqa: E402

N = 4000


def boxes_of(height: int, width: int, *, area: tuple[float, float], ratio: tuple[float, float]) -> np.ndarray:
    sizes = np.tile([height, width], (N, 1))
    return random_resized_boxes(sizes, torch.Generator().manual_seed(3), area=area, ratio=ratio)


def torchvision_boxes(height: int, width: int, area: tuple[float, float], ratio: tuple[float, float]) -> np.ndarray:
    image = Image.new("L", (width, height))
    found = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        for _ in range(N):
            top, left, h, w = transforms.RandomResizedCrop.get_params(image, list(area), list(ratio))
            found.append((left, top, left + w, top + h))
    return np.array(found)


@pytest.mark.parametrize(
    ("height", "width", "area", "ratio"),
    [
        (375, 500, (0.08, 1.0), (3 / 4, 4 / 3)),
        (341, 256, (0.16, 1.0), (0.75, 1.33)),
        (40, 300, (0.08, 1.0), (3 / 4, 4 / 3)),
        (300, 40, (0.5, 1.0), (3 / 4, 4 / 3)),
    ],
)
def test_random_resized_boxes_are_distributed_as_torchvisions(
    height: int, width: int, area: tuple[float, float], ratio: tuple[float, float]
) -> None:
    ours = boxes_of(height, width, area=area, ratio=ratio)
    theirs = torchvision_boxes(height, width, area, ratio)
    for measure in (
        lambda b: b[:, 0],
        lambda b: b[:, 1],
        lambda b: b[:, 2] - b[:, 0],
        lambda b: b[:, 3] - b[:, 1],
        lambda b: (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]),
        lambda b: (b[:, 2] - b[:, 0]) / (b[:, 3] - b[:, 1]),
        lambda b: b[:, 0] + 1000 * b[:, 1],
    ):
        assert stats.ks_2samp(measure(ours), measure(theirs)).pvalue > 1e-4
    assert (ours[:, :2] >= 0).all()
    assert (ours[:, 2] <= width).all()
    assert (ours[:, 3] <= height).all()


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
    found = random_resized_boxes(sizes, torch.Generator().manual_seed(0), area=area, ratio=ratio)
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
    left, top, right, bottom = central_boxes(np.array([size]), 227)[0]
    assert np.array_equal(pixels[top:bottom, left:right], wanted)
