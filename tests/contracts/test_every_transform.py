"""What every transform owes: images made a part at a time are those of the whole batch, to the last bit."""

import numpy as np
import pytest
import torch
from torch import Tensor

from fairground.contracts import IMAGENET, Images, PlannedTransform, Transform
from fairground.loading.image_dataset import ImagesInMemory
from fairground.spec import ComponentSpec, list_names
from fairground.training.assemble import build

N = 37
SETTINGS: dict[str, list[dict[str, object]]] = {
    "small_images": [{}, {"flip": 0.5, "turn": 90.0}],
    "photographs": [
        {"side": 24, "shorter_side": 32},
        {"side": 24, "shorter_side": 32, "resize_first": True, "gray": 0.5, "hue": 0.3, "brightness": 0.5},
    ],
    "mlrc2020": [{"side": 24, "shorter_side": 32}],
    "roth2020": [{"side": 24, "shorter_side": 32, "variant": variant} for variant in ("base", "red", "adv")],
    "plain": [{"side": 24, "shorter_side": 32}],
}
CASES = [(name, settings) for name, choices in SETTINGS.items() for settings in choices]


def images() -> ImagesInMemory:
    return ImagesInMemory(np.random.default_rng(0).integers(0, 256, (12, 3, 40, 36), np.uint8))


def rows() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 12, N)


def transform(name: str, settings: dict[str, object]) -> Transform:
    found: Transform = build("transform", ComponentSpec(name=name, settings=settings), {"preprocessing": IMAGENET})
    return found


def test_all_transforms_of_the_room_are_tried() -> None:
    assert set(SETTINGS) == set(list_names("transforms"))


@pytest.mark.parametrize(("name", "settings"), CASES)
@pytest.mark.parametrize("size", [1, 8, 10, N])
def test_parts_are_those_of_the_batch_and_draw_no_more(name: str, settings: dict[str, object], size: int) -> None:
    made, planned = torch.Generator().manual_seed(5), torch.Generator().manual_seed(5)
    batch = transform(name, settings).train(images(), rows(), made)
    plan = transform(name, settings).plan(images(), rows(), planned)
    state = planned.get_state()
    assert torch.equal(state, made.get_state())
    assert plan.n == N
    parts = [slice(begin, min(begin + size, N)) for begin in range(0, N, size)]
    for _ in range(2):
        assert torch.equal(torch.cat([plan.make(part) for part in parts]), batch)
    assert torch.equal(plan.make(slice(N - 1, N)), batch[-1:])
    assert torch.equal(planned.get_state(), state)


class _Counted(ImagesInMemory):
    n_read = 0

    def take(self, rows: np.ndarray | Tensor) -> Tensor:
        self.n_read += len(rows)
        return super().take(rows)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        self.n_read += len(rows)
        return super().crops(rows, boxes, side, shorter_side=shorter_side)


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_only_the_images_asked_for_are_read(name: str, settings: dict[str, object]) -> None:
    counted = _Counted(images().take(np.arange(12)).numpy())
    found = transform(name, settings)
    assert isinstance(found, PlannedTransform)
    plan = found.plan(counted, rows(), torch.Generator())
    assert counted.n_read == 0
    plan.make(slice(4, 9))
    assert counted.n_read == 5


class _Noise(Transform):
    """A transform of one's own, written without a plan."""

    def train(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        pixels = images.take(rows).float()
        return pixels + torch.randn(pixels.shape, generator=generator)

    def evaluate(self, images: Images, rows: np.ndarray, device: torch.device | None = None) -> Tensor:
        return images.take(rows).float()


def test_a_transform_without_a_plan_gives_parts_of_its_batch() -> None:
    batch = _Noise().train(images(), rows(), torch.Generator().manual_seed(2))
    plan = _Noise().plan(images(), rows(), torch.Generator().manual_seed(2))
    assert plan.n == N
    assert torch.equal(plan.make(slice(3, 8)), batch[3:8])
