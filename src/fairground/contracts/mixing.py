"""Samples mixed with partners inside a model: the plan, and the arithmetic."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Mixing(NamedTuple):
    """Sample i becomes `weight` * i + (1 - weight) * `partner[i]`, before trunk stage `stage` (0 = input).

    `whole` finds the partners where a batch is shared by several processes: it makes the whole of each one's part.
    """

    weight: float
    partner: Tensor
    stage: int
    whole: Callable[[Tensor], Tensor] | None = None


def mix(hidden: Tensor, mixing: Mixing) -> Tensor:
    """Return every hidden state mixed with its partner's."""
    whole = hidden if mixing.whole is None else mixing.whole(hidden)
    return mixing.weight * hidden + (1 - mixing.weight) * whole[mixing.partner]
