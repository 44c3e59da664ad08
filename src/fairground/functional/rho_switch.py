"""The rho switch: the triplets of an anchor with positive and negative exchanged, at random."""

from typing import Literal

import torch

from fairground.contracts.loss import Triplets
from fairground.functional import classmates, draw_below, fractions, positive_at

Reading = Literal["code", "replace", "swap"]


def switch_triplets(
    triplets: Triplets, labels: torch.Tensor, *, chance: float, reading: Reading, generator: torch.Generator | None
) -> Triplets:
    """Return the triplets, those of each anchor switched together with probability `chance`.

    `code` gives (a, a, p') with p' a uniform positive of a, `replace` gives (a, p, p), `swap` gives (a, n, p). Triplets
    of an anchor without positives stay as they are.
    """
    anchor, positive, negative = triplets
    batch = classmates(labels)
    is_switched = (fractions(len(labels), labels, generator) < chance) & (batch.n_positives > 0)
    switched = is_switched[anchor]
    if reading == "replace":
        return Triplets(anchor, positive, torch.where(switched, positive, negative))
    if reading == "swap":
        return Triplets(anchor, torch.where(switched, negative, positive), torch.where(switched, positive, negative))
    chosen = switched.nonzero().squeeze(1)
    anchor_of = anchor[chosen]
    other = positive_at(batch, anchor_of, draw_below(batch.n_positives[anchor_of], generator))
    return Triplets(anchor, positive.index_copy(0, chosen, anchor_of), negative.index_copy(0, chosen, other))
