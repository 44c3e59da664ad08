"""Hardest miner ("batch hard"): for each anchor the farthest positive and the nearest negative.

Formula
    per anchor a with P(a) and N(a) not empty: (a, argmax over P(a) of d(a, p), argmin over N(a) of d(a, n))

Paper
    Hermans, Beyer and Leibe, "In Defense of the Triplet Loss for Person Re-Identification", arXiv 2017, equation 5.

Departures from the paper
    Distances between unit vectors. Anchors without a positive or a negative are skipped.
"""

import torch

from fairground.contracts.miner import Miner, Triplets
from fairground.functional.pairs import pair_masks
from fairground.kernels.vector_gradients import normalize, squared_distances


class HardestMiner(Miner):
    """No settings and no chance: the same batch gives the same triplets."""

    yields = Triplets

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        masks = pair_masks(labels)
        # Squares are in the same order as distances.
        squares = squared_distances(normalize(embeddings))
        to_positive, positive = torch.where(masks.positive, squares, -torch.inf).max(1)
        to_negative, negative = torch.where(masks.negative, squares, torch.inf).min(1)
        anchor = (to_positive.isfinite() & to_negative.isfinite()).nonzero().squeeze(1)
        return Triplets(anchor, positive[anchor], negative[anchor])
