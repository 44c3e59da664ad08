"""Where photographs are cut: random and central boxes, for a whole batch at once.

Boxes are (left, top, right, bottom) in pixels, sizes are (height, width); all laws are torchvision's, including
which way halves are rounded. Draws come from the generator given, on its device.
"""

import numpy as np
import torch

#: after so many boxes that do not fit, the middle is taken
_TRIES = 10


def random_resized_boxes(
    sizes: np.ndarray,
    generator: torch.Generator,
    *,
    area: tuple[float, float],
    ratio: tuple[float, float],
) -> np.ndarray:
    """Return one box (k, 4) an image of a random share of its `area` and a random `ratio` of width to height.

    The share is uniform and the ratio log-uniform. The first of ten draws that fits is placed uniformly; where none
    does, the box is the largest central one whose ratio is allowed.
    """
    k = len(sizes)
    draws = _uniform((_TRIES, k, 2), generator)
    shares = area[0] + (area[1] - area[0]) * draws[:, :, 0]
    ratios = np.exp(np.log(ratio[0]) + (np.log(ratio[1]) - np.log(ratio[0])) * draws[:, :, 1])
    target = sizes.prod(axis=1) * shares
    tried = np.rint(np.sqrt(np.stack([target / ratios, target * ratios], axis=2))).astype(np.int64)  # (tries, k, 2)
    fits = ((tried > 0) & (tried <= sizes)).all(axis=2)
    cut = tried[fits.argmax(axis=0), np.arange(k)]
    corner = np.floor(_uniform((k, 2), generator) * (sizes - cut + 1)).astype(np.int64)
    none = ~fits.any(axis=0)
    cut[none] = _widest_allowed(sizes[none], ratio)
    corner[none] = (sizes[none] - cut[none]) // 2
    return _boxes(corner, cut)


def random_boxes(sizes: np.ndarray, generator: torch.Generator, side: int) -> np.ndarray:
    """Return one square box (k, 4) of that `side` an image, placed uniformly."""
    corner = np.floor(_uniform((len(sizes), 2), generator) * (sizes - side + 1)).astype(np.int64)
    return _boxes(corner, np.full_like(sizes, side))


def central_boxes(sizes: np.ndarray, side: int) -> np.ndarray:
    """Return the square box (k, 4) of that `side` in the middle of each image; halves go to the even number."""
    return _boxes(np.rint((sizes - side) / 2).astype(np.int64), np.full_like(sizes, side))


def random_flips(n: int, generator: torch.Generator, probability: float) -> torch.Tensor:
    """Return which of `n` images are mirrored, on the generator's device."""
    return torch.rand(n, generator=generator, device=generator.device) < probability


def _widest_allowed(sizes: np.ndarray, ratio: tuple[float, float]) -> np.ndarray:
    """Return the largest height and width (k, 2) within each image whose ratio is allowed."""
    height, width = sizes[:, 0], sizes[:, 1]
    shape = width / height
    high = np.where(shape < ratio[0], np.rint(width / ratio[0]).astype(np.int64), height)
    wide = np.where(shape > ratio[1], np.rint(height * ratio[1]).astype(np.int64), width)
    # A sliver of an image may round to nothing.
    return np.stack([high, wide], axis=1).clip(min=1)


def _boxes(corner: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """Return boxes from (top, left) and (height, width)."""
    return np.concatenate([corner[:, ::-1], (corner + cut)[:, ::-1]], axis=1)


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> np.ndarray:
    """Draw from [0, 1) in single precision, which every device has and no side of an image exhausts."""
    drawn: np.ndarray = torch.rand(*shape, generator=generator, device=generator.device).cpu().double().numpy()
    return drawn
