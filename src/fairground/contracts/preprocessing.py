"""What a network's weights expect of the numbers in an image."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """(value / `scale` - `mean`) / `deviation` for each channel, after putting the channels in `order`."""

    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    deviation: tuple[float, ...] = (0.229, 0.224, 0.225)
    scale: float = 255.0
    order: Literal["rgb", "bgr"] = "rgb"

    def apply(self, images: Tensor) -> Tensor:
        """Return uint8 RGB images (n, 3, h, w), or gray ones (n, 1, h, w), as the network wants them."""
        if images.shape[1] == 1:
            images = images.expand(-1, 3, -1, -1)
        if self.order == "bgr":
            images = images.flip(1)
        deviation = torch.tensor(self.deviation, dtype=torch.float32, device=images.device).view(1, -1, 1, 1)
        mean = torch.tensor(self.mean, dtype=torch.float32, device=images.device).view(1, -1, 1, 1)
        return images.float().mul(1 / (self.scale * deviation)).sub(mean / deviation)


#: what networks trained on ImageNet expect unless they say otherwise
IMAGENET = Preprocessing()
