"""The price on the length of embeddings that losses on raw, unnormalised embeddings need to stay finite."""

from typing import Literal

import torch
from torch import Tensor


def with_norm_penalty(loss: Tensor, embeddings: Tensor, weight: float, power: Literal[1, 2]) -> Tensor:
    """Return loss + weight * mean over the batch of ||x||, or of ||x||^2 for power 2."""
    if weight == 0 or len(embeddings) == 0:
        return loss
    if power == 2:
        return loss + weight * embeddings.square().sum(1).mean()
    # The norm's own gradient is 0 at 0, where the square root's would be infinite.
    norms: Tensor = torch.linalg.vector_norm(embeddings, dim=1)
    return loss + weight * norms.mean()
