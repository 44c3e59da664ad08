"""All-hard miner: every triplet whose negative is at least as near as its positive.

Formula
    all (a, p, n) with d(a, n) <= d(a, p) + margin

Paper
    Schroff, Kalenichenko and Philbin, "FaceNet: A Unified Embedding for Face Recognition and Clustering", CVPR 2015,
    section 3.2; pytorch-metric-learning's TripletMarginMiner calls these "hard" (margin 0), and "all" those within a
    margin.

Departures from the paper
    All of them in the batch, not one for each positive pair; `per_anchor_cap` keeps a uniform choice for each anchor.
"""

import torch

from fairground.contracts.miner import Miner, Real, Triplets, require
from fairground.functional import list_triplets, pair_masks
from fairground.kernels.vector_gradients import distances, normalize


class AllHardMiner(Miner):
    """`margin` is how much farther than the positive a negative may be and still count: 0 for the hard ones alone."""

    yields = Triplets
    tunable = {"margin": Real(low=0.0, high=1.0)}

    def __init__(self, *, margin: float = 0.0, per_anchor_cap: int | None = None) -> None:
        require(-2 <= margin <= 2, f"all_hard.margin must be in [-2, 2], the widest gap on a unit sphere; got {margin}")
        refusal = f"all_hard.per_anchor_cap must be at least 1, or none for no cap; got {per_anchor_cap}"
        require(per_anchor_cap is None or per_anchor_cap >= 1, refusal)
        self.margin, self.per_anchor_cap = margin, per_anchor_cap

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        masks = pair_masks(labels)
        distance = distances(normalize(embeddings))
        to_negative = distance.masked_fill(~masks.negative, torch.inf)

        def is_hard(anchor: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
            return to_negative[anchor] <= (distance[anchor, positive] + self.margin).unsqueeze(1)

        return list_triplets(masks.positive, is_hard, cap=self.per_anchor_cap, generator=generator)
