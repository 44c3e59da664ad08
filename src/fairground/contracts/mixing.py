"""Samples mixed with partners inside a model: the plan, and the arithmetic."""

from typing import NamedTuple

from torch import Tensor


class Mixing(NamedTuple):
    """Sample i becomes `weight` * i + (1 - weight) * `partner[i]`, before trunk stage `stage` (0 = input)."""

    weight: float
    partner: Tensor
    stage: int


def mix(hidden: Tensor, mixing: Mixing) -> Tensor:
    """Return every hidden state mixed with its partner's."""
    return mixing.weight * hidden + (1 - mixing.weight) * hidden[mixing.partner]
