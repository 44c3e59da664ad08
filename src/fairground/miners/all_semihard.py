"""All-semihard miner: every triplet whose negative is farther than its positive, but not by the margin.

Formula
    all (a, p, n) with d(a, p) < d(a, n) <= d(a, p) + margin

Paper
    Schroff, Kalenichenko and Philbin, "FaceNet: A Unified Embedding for Face Recognition and Clustering", CVPR 2015,
    section 3.2; pytorch-metric-learning's TripletMarginMiner calls these "semihard".

Departures from the paper
    All of them in the batch, not one for each positive pair; `per_anchor_cap` keeps a uniform choice for each anchor.
    Plain distances, not squared ones.
"""

import torch

from fairground.contracts.miner import Miner, Real, Triplets
from fairground.functional import list_triplets, pair_masks
from fairground.kernels.vector_gradients import distances, normalize


class AllSemihardMiner(Miner):
    """`margin` is how much farther than the positive a negative may be: the margin of the loss it serves."""

    yields = Triplets
    tunable = {"margin": Real(low=0.0, high=1.0)}
    bounds = {"margin": "[0, 2]", "per_anchor_cap": "[1, inf)"}

    def __init__(self, *, margin: float = 0.2, per_anchor_cap: int | None = None) -> None:
        self.margin, self.per_anchor_cap = margin, per_anchor_cap

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        masks = pair_masks(labels)
        distance = distances(normalize(embeddings))
        to_negative = distance.masked_fill(~masks.negative, torch.inf)

        def is_semihard(anchor: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
            to_positive, candidates = distance[anchor, positive].unsqueeze(1), to_negative[anchor]
            return (candidates > to_positive) & (candidates <= to_positive + self.margin)

        return list_triplets(masks.positive, is_semihard, cap=self.per_anchor_cap, generator=generator)
