"""Semihard miner: a random positive, and a negative just beyond it.

Formula
    per anchor a: p uniform in P(a);  n uniform in { n in N(a) : d(a, p) < d(a, n) < d(a, p) + margin },
    or in N(a) when that set is empty

Paper
    Schroff, Kalenichenko and Philbin, "FaceNet: A Unified Embedding for Face Recognition and Clustering", CVPR 2015; as
    written in Roth et al., ICML 2020, equation 20.

Departures from the paper
    Equation 20 lacks the upper bound, which the original and the released code have. Distances are not squared, as in
    that code. One triplet per anchor; `all_semihard` gives all of them.
"""

import torch

from fairground.contracts.miner import Miner, Real, Triplets
from fairground.functional import classmates, draw_below, marked_column, pair_masks, positive_at
from fairground.kernels.vector_gradients import distances, normalize


class SemihardMiner(Miner):
    """`margin` is how far beyond the positive a negative may be: the margin of the loss it serves."""

    yields = Triplets
    tunable = {"margin": Real(low=0.0, high=1.0)}
    bounds = {"margin": "[0, 2]"}

    def __init__(self, *, margin: float = 0.2) -> None:
        self.margin = margin

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        batch = classmates(labels)
        anchor = batch.n_triplets.nonzero().squeeze(1)
        positive = positive_at(batch, anchor, draw_below(batch.n_positives[anchor], generator))
        distance = distances(normalize(embeddings))[anchor]
        to_positive = distance.gather(1, positive.unsqueeze(1))
        negative = pair_masks(labels).negative[anchor]
        semihard = negative & (distance > to_positive) & (distance < to_positive + self.margin)
        candidates = torch.where(semihard.any(1, keepdim=True), semihard, negative)
        return Triplets(anchor, positive, marked_column(candidates, generator))
