"""Rho-regularised distance miner: distance-weighted triplets, some of which push a positive away.

Formula
    per anchor a of the distance-weighted miner, independently:
    with probability 1 - p_switch:  (a, p, n), P(n | a) proportional to 1 / q(max(d(a, n), lo)), 0 from d = hi on
    with probability p_switch:      (a, a, p'), p' uniform in P(a)

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    section 5.1, as in the released code.

Departures from the paper
    The text switches the negative with the positive; the code, followed here, also makes the anchor its own positive,
    so that nothing is attracted. The regulariser `rho` has all readings, for any miner of triplets: `rho` after
    `distance_weighted` draws from the same distribution as this miner.
"""

import torch

from fairground.contracts.miner import Miner, Real, Triplets, require
from fairground.functional import classmates, distance_weights, pair_masks, positive_at, switch_triplets
from fairground.functional.random_draws import draw_below, weighted_columns


class RhoDistanceMiner(Miner):
    """`p_switch` is the share of anchors whose triplet is switched; `lo` and `hi` bound the distance of negatives."""

    yields = Triplets
    tunable = {"p_switch": Real(low=0.0, high=0.6)}
    bounds = {"p_switch": "[0, 1]", "lo": "(0, 2)"}

    def __init__(self, *, p_switch: float = 0.2, lo: float = 0.5, hi: float | None = 1.4) -> None:
        require(hi is None or lo < hi, f"rho_distance.hi must be above lo = {lo}, or none for no bound; got {hi}")
        self.p_switch, self.lo, self.hi = p_switch, lo, hi

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        batch = classmates(labels)
        weights = distance_weights(embeddings, pair_masks(labels).negative, lo=self.lo, hi=self.hi)
        anchor = ((batch.n_positives > 0) & (weights.sum(1) > 0)).nonzero().squeeze(1)
        negative = weighted_columns(weights[anchor], 1, generator).squeeze(1)
        positive = positive_at(batch, anchor, draw_below(batch.n_positives[anchor], generator))
        triplets = Triplets(anchor, positive, negative)
        return switch_triplets(triplets, labels, chance=self.p_switch, reading="code", generator=generator)
