"""Random miner: every anchor gets a positive and a negative by chance.

Formula
    per anchor a with P(a) and N(a) not empty: (a, p, n), p uniform in P(a), n uniform in N(a)

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    supplement, "random tuple mining".

Departures from the paper
    None in the default. The released code draws b of all valid triplets instead, so that anchors of larger classes come
    more often; `roth_code` does the same, and takes all triplets where the code fails for want of b of them.
"""

import torch

from fairground.contracts.miner import Miner, Triplets
from fairground.functional import classmates, distinct_below, draw_below, negative_at, positive_at, triplet_at


class RandomMiner(Miner):
    """`roth_code` draws as many triplets as the batch has samples, uniformly over all valid ones."""

    yields = Triplets

    def __init__(self, *, roth_code: bool = False) -> None:
        self.roth_code = roth_code

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        batch = classmates(labels)
        if self.roth_code:
            ends = batch.n_triplets.cumsum(0)
            _, number = distinct_below(ends[-1:], len(labels), generator)
            anchor = torch.searchsorted(ends, number, right=True)
            return triplet_at(batch, anchor, number - (ends - batch.n_triplets)[anchor])
        anchor = batch.n_triplets.nonzero().squeeze(1)
        positive = positive_at(batch, anchor, draw_below(batch.n_positives[anchor], generator))
        negative = negative_at(batch, anchor, draw_below(batch.n_negatives[anchor], generator))
        return Triplets(anchor, positive, negative)
