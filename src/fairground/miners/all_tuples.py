"""All-tuples miner: every valid triplet of the batch, or a fixed number of them for each anchor.

Formula
    all (a, p, n) with y_p = y_a, p != a, y_n != y_a

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020: all losses there see all tuples.

Departures from the paper
    Losses use all tuples by themselves, in less memory, when no miner is named. This miner is for saying so in a spec,
    and for `per_anchor_cap`, which the paper does not have.
"""

import torch

from fairground.contracts.miner import Miner, Triplets
from fairground.functional import classmates, distinct_below, list_triplets, pair_masks, triplet_at


class AllTuplesMiner(Miner):
    """`per_anchor_cap` keeps at most that many triplets of each anchor, chosen uniformly."""

    yields = Triplets
    bounds = {"per_anchor_cap": "[1, inf)"}

    def __init__(self, *, per_anchor_cap: int | None = None) -> None:
        self.per_anchor_cap = per_anchor_cap

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        if self.per_anchor_cap is not None:
            batch = classmates(labels)
            anchor, number = distinct_below(batch.n_triplets, self.per_anchor_cap, generator)
            return triplet_at(batch, anchor, number)
        masks = pair_masks(labels)
        return list_triplets(masks.positive, lambda anchor, _: masks.negative[anchor])
