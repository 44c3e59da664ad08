"""Augmentation of small in-memory images, a whole batch at once: shift, zoom, turn and flip.

Formula
    One affine map an image, sampled bilinearly with zeros outside: zoom ~ U(1 - zoom, 1 + zoom), turn ~ U(-turn, turn)
    degrees, shift ~ U(-shift, shift) of the side; then (value / 255 - mean) / deviation.

Paper
    None; the small-image counterpart of the random resized crop of both benchmark papers.

Departures from the paper
    One interpolation for everything, so that a batch costs a few milliseconds on one core.
"""

import math

import numpy as np
import torch

from fairground.contracts.trunk_head_transform import Augmentation, Device, Images, PlannedTransform
from fairground.loading.transform_steps import to_device


class SmallImagesTransform(PlannedTransform):
    """Ranges of the random affine map; `flip` is the probability of a mirror image."""

    bounds = {
        **{"shift": "[0, 0.5]", "zoom": "[0, 1)", "turn": "[0, 180]"},
        **{"flip": "[0, 1]", "mean": "(-inf, inf)", "deviation": "(0, inf)"},
    }

    def __init__(
        self,
        *,
        shift: float = 0.08,
        zoom: float = 0.12,
        turn: float = 8.0,
        flip: float = 0.0,
        mean: float = 0.25,
        deviation: float = 0.4,
    ) -> None:
        self.shift, self.zoom, self.turn, self.flip = shift, zoom, turn, flip
        self.mean, self.deviation = mean, deviation

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator, device: Device = None) -> Augmentation:
        n = len(rows)
        draws = torch.rand(5, n, generator=generator, device=generator.device).cpu()
        scale = 1 + self.zoom * (2 * draws[0] - 1)
        angle = math.radians(self.turn) * (2 * draws[1] - 1)
        mirror = 1 - 2 * (draws[2] < self.flip).float()
        # affine_grid measures in half sides, hence the factor 2
        shift = 2 * self.shift * (2 * draws[3:] - 1)
        cosine, sine = angle.cos() * scale, angle.sin() * scale
        maps = torch.stack([mirror * cosine, -mirror * sine, shift[0], sine, cosine, shift[1]], dim=1).view(-1, 2, 3)

        def make(part: slice) -> torch.Tensor:
            pixels = to_device(images.take(rows[part]), device)
            grid = torch.nn.functional.affine_grid(maps[part].to(device), list(pixels.shape), align_corners=False)
            return self._scaled(torch.nn.functional.grid_sample(pixels.float(), grid, align_corners=False))

        return Augmentation(n, make)

    def evaluate(self, images: Images, rows: np.ndarray, device: Device = None) -> torch.Tensor:
        return self._scaled(to_device(images.take(rows), device).float())

    def _scaled(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels.mul(1 / (255 * self.deviation)).sub_(self.mean / self.deviation)
