"""Easy-positive miner: for each anchor its nearest positive, and a hard negative beyond it.

Formula
    per anchor a: p = argmin over P(a) of d(a, p);
    negative "semihard": n = argmin of d(a, n) over { n in N(a) : d(a, n) > d(a, p) }, the anchor skipped if none is;
    negative "hard":     n = argmin of d(a, n) over N(a)

Paper
    Xuan, Stylianou and Pless, "Improved Embeddings with Easy Positive Triplet Mining", WACV 2020 (EPSHN and EPHN).

Departures from the paper
    Tuples only: the paper pairs them with its own softmax loss, here any loss over triplets may take them.
"""

from typing import Literal

import torch

from fairground.contracts.miner import Choice, Miner, Triplets
from fairground.functional.pairs import pair_masks
from fairground.kernels.vector_gradients import normalize, squared_distances


class EasyPositiveMiner(Miner):
    """`negative` says which one goes with the nearest positive: the nearest beyond it, or the nearest of all."""

    yields = Triplets
    tunable = {"negative": Choice(options=("semihard", "hard"))}

    def __init__(self, *, negative: Literal["semihard", "hard"] = "semihard") -> None:
        self.negative = negative

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        masks = pair_masks(labels)
        # Squares are in the same order as distances.
        squares = squared_distances(normalize(embeddings))
        to_positive, positive = torch.where(masks.positive, squares, torch.inf).min(1)
        allowed = masks.negative
        if self.negative == "semihard":
            allowed = allowed & (squares > to_positive.unsqueeze(1))
        to_negative, negative = torch.where(allowed, squares, torch.inf).min(1)
        anchor = (to_positive.isfinite() & to_negative.isfinite()).nonzero().squeeze(1)
        return Triplets(anchor, positive[anchor], negative[anchor])
