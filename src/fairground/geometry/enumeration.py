"""Lists of triplets that pass a test, made in blocks of anchors so that the list itself is all that needs memory."""

from collections.abc import Callable

import torch
from torch import Tensor

from fairground.contracts.tuples import Triplets
from fairground.geometry.choices import capped

#: how many candidate triplets are looked at together: a few tens of megabytes
BLOCK = 2**21


def list_triplets(
    positive: Tensor,
    negatives_of: Callable[[Tensor, Tensor], Tensor],
    *,
    cap: int | None = None,
    generator: torch.Generator | None = None,
) -> Triplets:
    """Return every (a, p, n) with p marked in row a of `positive` (n, n) and n marked by `negatives_of(a, p)`.

    `negatives_of` takes the two index vectors (m,) of some positive pairs and returns a mask (m, n). With a `cap` at
    most that many triplets of each anchor stay, a uniform choice among them.
    """
    n = len(positive)
    widest = int(positive.sum(1).max()) * n if n else 0
    step = max(1, BLOCK // max(1, widest))
    blocks = []
    for first in range(0, n, step):
        anchor, partner = positive[first : first + step].nonzero(as_tuple=True)
        anchor = anchor + first
        pair, negative = negatives_of(anchor, partner).nonzero(as_tuple=True)
        block = (anchor[pair], partner[pair], negative)
        if cap is not None:
            kept = capped(block[0], n, cap, generator)
            block = (block[0][kept], block[1][kept], block[2][kept])
        blocks.append(block)
    if len(blocks) == 1:
        return Triplets(*blocks[0])
    return Triplets(*(torch.cat(column) for column in zip(*blocks, strict=True)))
