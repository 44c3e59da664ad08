"""What a miner hands to a loss: index vectors into the batch, as pairs or as triplets."""

from typing import NamedTuple

from torch import Tensor


class Triplets(NamedTuple):
    """Three index vectors of one length: sample `anchor[t]` belongs with `positive[t]` and not with `negative[t]`."""

    anchor: Tensor
    positive: Tensor
    negative: Tensor

    @property
    def size(self) -> int:
        return int(self.anchor.numel())


class Pairs(NamedTuple):
    """Ordered pairs: `positive_anchor[t]` goes with `positive[t]`; `negative_anchor[t]` does not with `negative[t]`."""

    positive_anchor: Tensor
    positive: Tensor
    negative_anchor: Tensor
    negative: Tensor

    @property
    def size(self) -> int:
        return int(self.positive_anchor.numel() + self.negative_anchor.numel())


Tuples = Triplets | Pairs


def as_pairs(tuples: Tuples) -> Pairs:
    """Return the positive and the negative pair of every triplet, repeats kept; pairs pass through."""
    if isinstance(tuples, Pairs):
        return tuples
    return Pairs(tuples.anchor, tuples.positive, tuples.anchor, tuples.negative)
