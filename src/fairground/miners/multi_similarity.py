"""Multi-similarity miner: pairs that are hard by comparison with the anchor's hardest pair of the other kind.

Formula
    positive pair (i, j) kept if  s_ij - epsilon < max over N(i) of s_ik
    negative pair (i, k) kept if  s_ik + epsilon > min over P(i) of s_ij        (s the cosine)

Paper
    Wang et al., "Multi-Similarity Loss with General Pair Weighting for Deep Metric Learning", CVPR 2019, section 4.1.

Departures from the paper
    An anchor is never its own positive by index; the authors' code drops similarities near 1 instead, and with them
    exact duplicates. `per_anchor_cap` keeps a uniform choice of each anchor's positive pairs and of its negative pairs.
    `self_positive_bug` lets an anchor be its own positive where 1 - epsilon < max over N(i) of s_ik, and its own only
    standard where it has no other, as pytorch-metric-learning did until June 2020: that was the miner of "A Metric
    Learning Reality Check".
"""

import torch

from fairground.contracts.miner import Miner, Pairs, Real
from fairground.functional import capped, pair_masks
from fairground.kernels.vector_gradients import normalize


class MultiSimilarityMiner(Miner):
    """`epsilon` is how much easier than the hardest pair of the other kind a pair may be and still be kept."""

    yields = Pairs
    tunable = {"epsilon": Real(low=0.0, high=1.0)}
    bounds = {"epsilon": "[-2, 2]", "per_anchor_cap": "[1, inf)"}

    def __init__(
        self, *, epsilon: float = 0.1, per_anchor_cap: int | None = None, self_positive_bug: bool = False
    ) -> None:
        self.epsilon, self.per_anchor_cap, self.self_positive_bug = epsilon, per_anchor_cap, self_positive_bug

    def mine(self, embeddings: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None) -> Pairs:
        positive, negative = pair_masks(labels)
        if self.self_positive_bug and bool(positive.any()):
            positive.fill_diagonal_(True)
        z = normalize(embeddings)
        s = z @ z.T
        hardest_negative = s.masked_fill(~negative, -torch.inf).amax(1, keepdim=True)
        hardest_positive = s.masked_fill(~positive, torch.inf).amin(1, keepdim=True)
        kept_positive = positive & (s - self.epsilon < hardest_negative)
        kept_negative = negative & (s + self.epsilon > hardest_positive)
        return Pairs(*self._list(kept_positive, generator), *self._list(kept_negative, generator))

    def known_bugs(self) -> tuple[str, ...]:
        bug = "multi_similarity.self_positive_bug: an anchor may be mined as its own positive"
        return (bug,) if self.self_positive_bug else ()

    def _list(self, kept: torch.Tensor, generator: torch.Generator | None) -> tuple[torch.Tensor, torch.Tensor]:
        anchor, other = kept.nonzero(as_tuple=True)
        if self.per_anchor_cap is None:
            return anchor, other
        chosen = capped(anchor, len(kept), self.per_anchor_cap, generator)
        return anchor[chosen], other[chosen]
