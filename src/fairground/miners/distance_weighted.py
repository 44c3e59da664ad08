"""Distance-weighted miner: negatives at all distances, by undoing how distances crowd on a sphere.

Formula
    q(d) = d^(D-2) (1 - d^2/4)^((D-3)/2),  the density of distances between random unit vectors in R^D
    per anchor a: P(n | a) proportional to 1 / q(max(d(a, n), lo)) over N(a), and 0 from d = hi on; p uniform in P(a)

Paper
    Wu, Manmatha, Smola and Krähenbühl, "Sampling Matters in Deep Embedding Learning", ICCV 2017, section 4; Roth et
    al., ICML 2020, equations 23 and 24.

Departures from the paper
    `lo` bounds the distance, as in all published code, where the text speaks of clipping the weight. Roth's text has
    hi = 1.4, his code none: set `hi` to none to follow it. An anchor with no negative below `hi` is skipped. A triplet
    drawn twice for an anchor is kept once.
"""

import sys
from typing import Literal

import torch

from fairground.contracts.miner import Miner, Triplets, require
from fairground.functional import classmates, distance_weights, draw_below, pair_masks, positive_at, weighted_columns


class DistanceWeightedMiner(Miner):
    """`lo` and `hi` bound the distance of negatives; `per_anchor` triplets are drawn, "class_count" as in
    pytorch-metric-learning: as many as the anchor's class has members in the batch, at most `per_anchor_cap`.
    """

    yields = Triplets
    bounds = {"lo": "(0, 2)", "per_anchor_cap": "[1, inf)"}

    def __init__(
        self,
        *,
        lo: float = 0.5,
        hi: float | None = 1.4,
        per_anchor: int | Literal["class_count"] = 1,
        per_anchor_cap: int | None = None,
    ) -> None:
        require(hi is None or lo < hi, f"distance_weighted.hi must be above lo = {lo}, or none for no bound; got {hi}")
        refusal = f"distance_weighted.per_anchor must be at least 1, or 'class_count'; got {per_anchor!r}"
        require(per_anchor == "class_count" or (isinstance(per_anchor, int) and per_anchor >= 1), refusal)
        self.lo, self.hi, self.per_anchor, self.per_anchor_cap = lo, hi, per_anchor, per_anchor_cap

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Triplets:
        batch = classmates(labels)
        weights = distance_weights(embeddings, pair_masks(labels).negative, lo=self.lo, hi=self.hi)
        row = ((batch.n_positives > 0) & (weights.sum(1) > 0)).nonzero().squeeze(1)
        most = self.per_anchor_cap or sys.maxsize
        if self.per_anchor == "class_count":
            counts = (batch.n_positives[row] + 1).clamp_max(most)
            widest = int(counts.max()) if len(row) else 1
            wanted = torch.arange(widest, device=row.device) < counts.unsqueeze(1)
            negative = weighted_columns(weights[row], widest, generator)[wanted]
            anchor = row.repeat_interleave(counts)
        else:
            widest = min(self.per_anchor, most)
            negative = weighted_columns(weights[row], widest, generator).flatten()
            anchor = row.repeat_interleave(widest)
        positive = positive_at(batch, anchor, draw_below(batch.n_positives[anchor], generator))
        if widest > 1:
            n = len(labels)
            once = torch.unique((anchor * n + positive) * n + negative)
            anchor, positive, negative = once // n**2, once // n % n, once % n
        return Triplets(anchor, positive, negative)
