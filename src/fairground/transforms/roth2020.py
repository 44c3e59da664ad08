"""The image pipelines of "Revisiting Training Strategies": random resized crops of the full image, in four variants.

Formula
    base: a box of U(0.08, 1) of the area, width : height log-uniform in (3/4, 4/3), resized to 224 x 224; mirrored with
    probability 0.5. red: shorter side to 256, a random 224 x 224 box, mirrored. big: base with 256 x 256. adv: base's
    crop, gray with probability 0.2, brightness, contrast and saturation times U(0.8, 1.2) and hue turned by
    U(-0.2, 0.2) in random order, mirrored. Evaluation: shorter side to 256, central square of the same
    side. All: what the trunk's weights expect.

Paper
    Roth, Milbich, Sinha, Gupta, Ommer and Cohen, "Revisiting Training Strategies and Generalization Performance in Deep
    Metric Learning", ICML 2020, section 4 and supplement, and its released code.

Departures from the paper
    Images prepared in a cache are cut after their shorter side was resized, not from the full size (docs/images.md).
"""

from typing import Literal

import numpy as np
import torch

from fairground.contracts.trunk_head_transform import Preprocessing
from fairground.loading import transform_steps as steps


class Roth2020Transform(steps.PhotographTransform):
    """`side` 0 is the variant's own: 256 for big, 224 otherwise; the released code gives GoogLeNet 227."""

    area, ratio, flip = (0.08, 1.0), (3 / 4, 4 / 3), 0.5

    def __init__(
        self,
        *,
        preprocessing: Preprocessing,
        variant: Literal["base", "red", "big", "adv"] = "base",
        side: int = 0,
        shorter_side: int = 256,
    ) -> None:
        side = side or (256 if variant == "big" else 224)
        super().__init__(preprocessing, side, shorter_side)
        self.variant = variant
        if variant == "red":
            self.resized = shorter_side
        if variant == "adv":
            self.gray, self.colours = 0.2, (0.2, 0.2, 0.2, 0.2)

    def boxes(self, sizes: np.ndarray, generator: torch.Generator) -> np.ndarray:
        if self.variant == "red":
            return steps.random_boxes(sizes, generator, self.side)
        return super().boxes(sizes, generator)
