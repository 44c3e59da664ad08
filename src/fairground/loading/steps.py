"""The steps that pipelines for photographs share: cut, mirror, recolour, and give the network what it expects."""

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.preprocessing import Preprocessing
from fairground.contracts.table import Images
from fairground.errors import require
from fairground.loading.boxes import central_boxes
from fairground.loading.colours import gray


def centre_crops(
    images: Images,
    rows: np.ndarray,
    side: int,
    shorter_side: int,
    preprocessing: Preprocessing,
    device: torch.device | None,
) -> Tensor:
    """Return the middle squares of images whose shorter side was resized, as the network wants them."""
    boxes = central_boxes(images.sizes(rows, shorter_side=shorter_side), side)
    return preprocessing.apply(images.crops(rows, boxes, side, shorter_side=shorter_side).to(device))


def mirror(images: Tensor, is_chosen: Tensor) -> Tensor:
    """Return images (n, c, h, w), the chosen ones (n,) mirrored; those given may be changed."""
    chosen = is_chosen.nonzero().squeeze(1)
    return images.index_copy_(0, chosen, images[chosen].flip(3))


def lose_colour(images: Tensor, is_chosen: Tensor) -> Tensor:
    """Return RGB images, the chosen ones (n,) turned gray; those given may be changed."""
    chosen = is_chosen.nonzero().squeeze(1)
    return images.index_copy_(0, chosen, gray(images[chosen]).to(torch.uint8).expand(-1, 3, -1, -1))


def require_sides(name: str, side: int, shorter_side: int) -> None:
    """Refuse sides from which no crop can be cut."""
    require(1 <= shorter_side <= 4096, f"{name}.shorter_side must be in [1, 4096] pixels; got {shorter_side}")
    require(1 <= side <= shorter_side, f"{name}.side must be in [1, {name}.shorter_side = {shorter_side}]; got {side}")
