"""Model and images to embeddings: in order, without gradient, a bounded block at a time."""

import numpy as np
import torch
from torch import Tensor, nn

from fairground.contracts.model import Transform
from fairground.contracts.table import Images

BLOCK = 512


@torch.no_grad()
def embed(
    model: nn.Module, images: Images, rows: np.ndarray, transform: Transform, *, device: torch.device | None = None
) -> Tensor:
    """Return the raw embeddings (len(rows), d) of the images at `rows`; the model's mode is left as it was."""
    was_training = model.training
    model.eval()
    blocks = []
    for begin in range(0, len(rows), BLOCK):
        blocks.append(model(transform.evaluate(images, rows[begin : begin + BLOCK], device)))
    model.train(was_training)
    return torch.cat(blocks)
