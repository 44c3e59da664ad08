"""The gradient of a depthwise convolution's weights, which oneDNN finds slowly for kernels wider than 3.

Formula
    dL/dw[c, i, j] = sum over images n and places (y, x) of  image[n, c, y t + i - p, x t + j - p] * dL/dz[n, c, y, x]
    for stride t and padding p: the gradient of torch.conv2d(image, w, stride=t, padding=p, groups=channels) by w

Channels lie innermost and are independent of each other: they are divided among torch's threads. Sums of an image are
float32, those over images float64, so that a large batch rounds no more than a small one.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numba
import numpy as np
import torch
from torch import Tensor

#: channels are divided in such steps, which vector registers hold
_LANES = 16


def weight_gradient(images: Tensor, gradients: Tensor, *, size: int, stride: int, padding: int) -> Tensor:
    """Return (c, 1, size, size) from images (n, c, h, w) and the output's gradients, both float32 in main memory."""
    inputs, outputs = (x.detach().permute(0, 2, 3, 1).contiguous().numpy() for x in (images, gradients))
    channels, n_threads = inputs.shape[3], torch.get_num_threads()
    found = np.zeros((size, size, channels))
    share = -(-channels // (n_threads * _LANES)) * _LANES
    parts = [(begin, min(begin + share, channels)) for begin in range(0, channels, share)]
    if len(parts) == 1:
        _add_products(inputs, outputs, stride, padding, 0, channels, found)
    else:
        pool = _pool(n_threads)
        tasks = [pool.submit(_add_products, inputs, outputs, stride, padding, *part, found) for part in parts]
        for task in tasks:
            task.result()
    return torch.from_numpy(found.astype(np.float32)).permute(2, 0, 1).unsqueeze(1)


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="fairground-depthwise")


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def _add_products(
    images: np.ndarray, gradients: np.ndarray, stride: int, padding: int, first: int, last: int, found: np.ndarray
) -> None:
    """Add the sums of channels `first` to `last` to `found` (size, size, channels)."""
    size, n_rows = found.shape[0], gradients.shape[1]
    sums = np.empty((size, size, last - first), np.float32)
    for n in range(len(images)):
        sums[:] = 0
        for row in range(n_rows):
            for down in range(size):
                y = row * stride + down - padding
                if 0 <= y < images.shape[1]:
                    for across in range(size):
                        _add_row(images[n, y], gradients[n, row], stride, across - padding, first, sums[down, across])
        for down in range(size):
            for across in range(size):
                for c in range(last - first):
                    found[down, across, first + c] += sums[down, across, c]


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def _add_row(pixels: np.ndarray, gradients: np.ndarray, stride: int, shift: int, first: int, sums: np.ndarray) -> None:
    """Add pixel times gradient along a row, pixels being `shift` ahead; four at a time, or sums would be read often."""
    last = first + len(sums)
    x = max(0, (stride - 1 - shift) // stride)
    end = min(len(gradients), (len(pixels) - 1 - shift) // stride + 1)
    while x + 4 <= end:
        at = x * stride + shift
        p0, g0 = pixels[at, first:last], gradients[x, first:last]
        p1, g1 = pixels[at + stride, first:last], gradients[x + 1, first:last]
        p2, g2 = pixels[at + 2 * stride, first:last], gradients[x + 2, first:last]
        p3, g3 = pixels[at + 3 * stride, first:last], gradients[x + 3, first:last]
        for c in range(len(sums)):
            sums[c] += (p0[c] * g0[c] + p1[c] * g1[c]) + (p2[c] * g2[c] + p3[c] * g3[c])
        x += 4
    while x < end:
        p0, g0 = pixels[x * stride + shift, first:last], gradients[x, first:last]
        for c in range(len(sums)):
            sums[c] += p0[c] * g0[c]
        x += 1
