"""The network's step that is measured gives the gradients of the plain loop, and its operations are counted."""

import numpy as np
import pytest
import torch
from benchmarks.network_step import step_operations
from torch import nn

from benchmarks import network_step


@pytest.mark.parametrize(("name", "side"), [("small_conv", 32), ("efficientnet_lite0", 64)])
def test_both_contestants_have_the_exact_gradients(name: str, side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_step, "STEPS", 0)
    _, expected = network_step.exact_step(name, 6, side, 3)
    for contestant in (network_step.plain_step, network_step.own_step):
        _, found = contestant(name, 6, side, 3)
        assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


def test_operations_by_hand() -> None:
    convolutions = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 5, groups=8)
    network = nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    network.append(nn.Linear(8, 10)).append(nn.Linear(10, 2).requires_grad_(False))
    # First: 8 outputs of 36 pixels from 27 numbers, for no gradient by the images; then 8 x 4 from 25; 10 from 8; and
    # 2 from 10, whose weights are frozen.
    forward = [2 * 8 * 36 * 27, 2 * 8 * 4 * 25, 2 * 10 * 8, 2 * 2 * 10]
    assert step_operations(network, torch.zeros(1, 3, 6, 6)) == sum(
        times * once for times, once in zip((2, 3, 3, 2), forward, strict=True)
    )
