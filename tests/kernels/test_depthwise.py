"""The weights' gradient of a depthwise convolution equals torch's, and loses fewer digits."""

import pytest
import torch

from fairground.kernels.depthwise import weight_gradient


def by_torch(images, gradients, size, stride, padding):
    channels = images.shape[1]
    weight = torch.zeros(channels, 1, size, size, dtype=images.dtype, requires_grad=True)
    out = torch.conv2d(images, weight, None, stride, padding, 1, channels)
    return torch.autograd.grad(out, weight, gradients)[0]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(
    ("channels", "height", "width", "size", "stride", "padding"),
    [(48, 9, 12, 5, 1, 2), (17, 11, 7, 5, 2, 0), (3, 5, 5, 5, 1, 0), (33, 6, 9, 7, 3, 3), (16, 2, 3, 5, 1, 2)],
)
def test_it_is_torchs_own(channels, height, width, size, stride, padding, n_threads):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(3, channels, height, width, generator=generator)
    rows, columns = ((side + 2 * padding - size) // stride + 1 for side in (height, width))
    gradients = torch.randn(3, channels, rows, columns, generator=generator)
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        for layout in (torch.contiguous_format, torch.channels_last):
            found = weight_gradient(
                images.contiguous(memory_format=layout), gradients, size=size, stride=stride, padding=padding
            )
            expected = by_torch(images.double(), gradients.double(), size, stride, padding)
            assert found.shape == expected.shape
            assert (found - expected).abs().max() <= 1e-6 * expected.abs().max()
    finally:
        torch.set_num_threads(before)


def test_a_value_by_hand():
    images = torch.arange(4.0).view(1, 1, 2, 2)
    gradients = torch.tensor([[[[1.0, 10.0], [100.0, 1000.0]]]])
    found = weight_gradient(images, gradients, size=3, stride=1, padding=1)
    # In the middle every pixel meets its own gradient: 0 + 10 + 200 + 3000. To the right of it, pixels 1 and 3 meet
    # the gradients left of them.
    assert found[0, 0, 1, 1].item() == 3210
    assert found[0, 0, 1, 2].item() == 1 * 1 + 3 * 100
    assert found[0, 0, 0, 0].item() == 0
