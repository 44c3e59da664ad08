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
        deviation = torch.tensor(self.deviation, dtype=torch.float32, device=images.device)
        mean = torch.tensor(self.mean, dtype=torch.float32, device=images.device)
        factor, shift = 1 / (self.scale * deviation), mean / deviation
        if not images.is_contiguous(memory_format=torch.channels_last):
            return images.float().mul(factor.view(1, -1, 1, 1)).sub(shift.view(1, -1, 1, 1))
        # With the channels last in memory, three numbers repeated would be read one by one; a row of them is not.
        n, channels, height, width = images.shape
        rows = images.permute(0, 2, 3, 1).reshape(n * height, width * channels).float()
        rows.mul_(factor.repeat(width)).sub_(shift.repeat(width))
        return rows.view(n, height, width, channels).permute(0, 3, 1, 2)


#: what networks trained on ImageNet expect unless they say otherwise
IMAGENET = Preprocessing()
