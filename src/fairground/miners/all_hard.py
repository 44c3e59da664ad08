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

from fairground.contracts.miner import Miner, Real, Triplets
from fairground.functional import list_triplets, pair_masks
from fairground.kernels.vector_gradients import distances, normalize


class AllHardMiner(Miner):
    """`margin` is how much farther than the positive a negative may be and still count: 0 for the hard ones alone."""

    yields = Triplets
    tunable = {"margin": Real(low=0.0, high=1.0)}
    bounds = {"margin": "[-2, 2]", "per_anchor_cap": "[1, inf)"}

    def __init__(self, *, margin: float = 0.0, per_anchor_cap: int | None = None) -> None:
        self.margin, self.per_anchor_cap = margin, per_anchor_cap

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        masks = pair_masks(labels)
        distance = distances(normalize(embeddings))
        to_negative = distance.masked_fill(~masks.negative, torch.inf)

        def is_hard(anchor: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
            return to_negative[anchor] <= (distance[anchor, positive] + self.margin).unsqueeze(1)

        return list_triplets(masks.positive, is_hard, cap=self.per_anchor_cap, generator=generator)
