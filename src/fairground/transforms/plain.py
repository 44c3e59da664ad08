"""No augmentation: ready-made features as they are, photographs as their middle squares.

Formula
    Features: the numbers themselves. Images: shorter side to `shorter_side`, central `side` x `side`, then what the
    trunk's weights expect.

Paper
    None; the evaluation pipeline of both benchmark papers, used for training as well.

Departures from the paper
    None.
"""

import numpy as np
import torch

from fairground.contracts.trunk_head_transform import Augmentation, Device, Images, Preprocessing
from fairground.loading import transform_steps as steps


class PlainTransform(steps.PhotographTransform):
    """`side` and `shorter_side` are for images; features have none."""

    def __init__(self, *, preprocessing: Preprocessing, side: int = 224, shorter_side: int = 256) -> None:
        super().__init__(preprocessing, side, shorter_side)

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator, device: Device = None) -> Augmentation:
        return Augmentation(len(rows), lambda part: self.evaluate(images, rows[part], device))

    def evaluate(self, images: Images, rows: np.ndarray, device: Device = None) -> torch.Tensor:
        if not images.is_picture:
            return steps.to_device(images.take(rows), device).float()
        return super().evaluate(images, rows, device)
