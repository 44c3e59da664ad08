"""Losses over classes with their learnable weights set to the fixture's, and plain-Python cosines to check them by."""

from math import sqrt

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from tests.losses.fixtures import CENTRES, PROXIES

#: what a loss over the fixture's classes is told
FACTS = {"n_classes": 4, "embedding_dim": 4}


def pinned(loss: Loss) -> Loss:
    """Return the loss in float64 with `PROXIES`, or `CENTRES` if it has several a class, for its weights."""
    loss.double()
    with torch.no_grad():
        for weights in loss.parameters():
            weights.copy_(CENTRES if weights.ndim == 3 else PROXIES)
    return loss


def cosine(left: Tensor, right: Tensor) -> float:
    """Return the cosine of two vectors, term by term."""
    u, v = left.tolist(), right.tolist()
    dot = sum(a * b for a, b in zip(u, v, strict=True))
    return dot / sqrt(sum(a * a for a in u)) / sqrt(sum(b * b for b in v))
