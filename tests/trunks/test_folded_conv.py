"""The folded network: its formula, a value by hand, and images of odd sizes."""

import pytest
import torch
from torch import nn

from fairground.trunks.folded_conv import FoldedConvTrunk


def step_by_step(trunk, images):
    """Fold by slices, and put ReLU before the maximum, as the papers do."""
    corners = [images[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)]
    hidden = torch.stack(corners, dim=2).flatten(1, 2)
    for *_, convolution, norm, _, _ in trunk.stages:
        hidden = nn.functional.max_pool2d(torch.relu(norm(convolution(hidden))), 2)
    return hidden.mean((2, 3))


@pytest.mark.parametrize("channels", [1, 3])
def test_it_is_the_formula(channels):
    torch.manual_seed(0)
    trunk = FoldedConvTrunk(channels=channels, widths=(5, 7)).eval()
    images = torch.randn(4, channels, 16, 24)
    assert torch.allclose(trunk(images), step_by_step(trunk, images), atol=1e-5)


def test_a_value_by_hand():
    trunk = FoldedConvTrunk(channels=1, widths=(1,)).eval()
    with torch.no_grad():
        trunk.stages[0][1].weight.zero_()
        trunk.stages[0][1].weight[0, 3, 1, 1] = 2.0  # twice the pixel below and right of each square's first
    image = torch.zeros(1, 1, 4, 4)
    image[0, 0, 3, 1] = 5.0
    expected = 10 / (1 + trunk.stages[0][2].eps) ** 0.5
    assert trunk(image).item() == pytest.approx(expected)
