"""Softhard miner: a random positive and a random negative among those that are harder than the easiest.

Formula
    per anchor a: n uniform in N_h = { n in N(a) : d(a, n) < max over P(a) of d(a, p) },
                  p uniform in P_h = { p in P(a) : d(a, p) > min over N(a) of d(a, n) };
    an empty N_h or P_h is replaced by N(a) or P(a)

Paper
    Roth and Brattoli, "Easily extendable basic deep metric learning pipeline", released code 2019; as written in Roth
    et al., ICML 2020, equations 21 and 22.

Departures from the paper
    The equations print argmax and argmin for max and min, and the anchor where the positive is meant.
"""

import torch

from fairground.contracts.miner import Miner, Triplets
from fairground.functional import marked_column, pair_masks
from fairground.kernels.vector_gradients import normalize, squared_distances


class SofthardMiner(Miner):
    """No settings."""

    yields = Triplets

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        masks = pair_masks(labels)
        anchor = (masks.positive.any(1) & masks.negative.any(1)).nonzero().squeeze(1)
        positive, negative = masks.positive[anchor], masks.negative[anchor]
        # Squares are in the same order as distances.
        squares = squared_distances(normalize(embeddings))[anchor]
        farthest_positive = squares.masked_fill(~positive, -torch.inf).amax(1, keepdim=True)
        nearest_negative = squares.masked_fill(~negative, torch.inf).amin(1, keepdim=True)
        hard_positive = positive & (squares > nearest_negative)
        hard_negative = negative & (squares < farthest_positive)
        # The positive is drawn first.
        kinds = (hard_positive, positive), (hard_negative, negative)
        chosen = (torch.where(hard.any(1, keepdim=True), hard, every) for hard, every in kinds)
        return Triplets(anchor, *(marked_column(candidates, generator) for candidates in chosen))
