"""Samples mixed with partners inside a model: the plan, and the arithmetic."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Mixing(NamedTuple):
    """Sample i becomes `weight` * i + (1 - weight) * `partner[i]`, before trained stage `stage` of the trunk.

    Stages are counted from the first that trains: 0 mixes images where all do.

    `gather` finds the partners where a batch is shared by several processes: it returns the full batch of each share.
    """

    weight: float
    partner: Tensor
    stage: int
    gather: Callable[[Tensor], Tensor] | None = None


def mix(hidden: Tensor, mixing: Mixing) -> Tensor:
    """Return every hidden state mixed with its partner's."""
    batch = hidden if mixing.gather is None else mixing.gather(hidden)
    return mixing.weight * hidden + (1 - mixing.weight) * batch[mixing.partner]
