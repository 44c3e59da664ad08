"""Multi-similarity loss: positives and negatives of an anchor each press through their own soft maximum.

Formula
    l_i = 1/alpha log(1 + sum_p e^(-alpha (s_ip - base)))  +  1/beta log(1 + sum_n e^(beta (s_in - base)))
    L = mean over the batch of l_i, with s the cosine. With `epsilon` the sums keep only
    positives with  s_ip - epsilon < max_n s_in  and negatives with  s_in + epsilon > min_p s_ip.

Paper
    Wang, Han, Huang, Dong and Scott, "Multi-Similarity Loss with General Pair Weighting", CVPR 2019, section 4.

Departures from the paper
    alpha 2, beta 40, base 0.5 are the values of the authors' code; the text has 50 for beta and 1 for base. `empty`
    says what becomes of an anchor with an empty sum: `halves` keeps its other half (pytorch-metric-learning),
    `survivors` leaves it out of the mean (Roth et al.), `batch` counts it as 0 (the authors' code).
    `self_positive_bug` makes every anchor a positive of itself while mining, as pytorch-metric-learning did before
    version 0.9.88; the authors' code also drops positives with a cosine above 1 - 1e-5, here only the anchor itself is.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples
from fairground.errors import require
from fairground.functional.logsumexp import group_sums, row_sums_
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.kernels.gradients import of_products
from fairground.spec.space import Real


class MultiSimilarityLoss(Loss):
    """`alpha` and `beta` sharpen the soft maximum over positives and negatives; `base` is the neutral cosine."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, Real]] = {
        "alpha": Real(low=0.01, high=100),
        "beta": Real(low=0.01, high=100),
        "base": Real(low=0, high=1),
    }

    def __init__(
        self,
        *,
        alpha: float = 2.0,
        beta: float = 40.0,
        base: float = 0.5,
        epsilon: float | None = None,
        empty: Literal["halves", "survivors", "batch"] = "halves",
        self_positive_bug: bool = False,
    ) -> None:
        super().__init__()
        require(alpha > 0, f"multi_similarity.alpha must be above 0; got {alpha}")
        require(beta > 0, f"multi_similarity.beta must be above 0; got {beta}")
        require(-1 <= base <= 1, f"multi_similarity.base must be in [-1, 1], as a cosine; got {base}")
        require(
            epsilon is None or 0 <= epsilon <= 2,
            f"multi_similarity.epsilon must be in [0, 2], or left out for no mining; got {epsilon}",
        )
        require(
            empty in ("halves", "survivors", "batch"),
            f"multi_similarity.empty must be 'halves', 'survivors' or 'batch'; got '{empty}'",
        )
        require(
            epsilon is not None or not self_positive_bug,
            "multi_similarity.self_positive_bug is a bug of the mining: set multi_similarity.epsilon with it",
        )
        self.alpha = alpha
        self.beta = beta
        self.base = base
        self.epsilon = epsilon
        self.empty = empty
        self.self_positive_bug = self_positive_bug

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the reduced terms; a batch with one kind of pair keeps that half, unless `empty` says otherwise."""
        if len(labels) == 0:
            return zero_of(embeddings)
        pairs = batch_pairs(embeddings, labels, tuples)
        return of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, pairs), normalise=True)

    def _loss_and_slopes(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        positive = cosines.take(pairs.place)
        negative = pairs.keep_negatives_(cosines)
        if self.epsilon is not None:
            pairs, positive = self._mine_(negative, positive, pairs, self.epsilon)
        weights = self._weights(negative, pairs)
        widest = 1 + abs(self.base)
        logits = self.alpha * (self.base - positive)
        positives = group_sums(logits, pairs.anchor, pairs.n, plus_one=True, within=self.alpha * widest)
        logits = negative.sub_(self.base).mul_(self.beta)
        negatives = row_sums_(logits, plus_one=True, within=self.beta * widest)
        terms = positives.log / self.alpha + negatives.log / self.beta
        slopes = negatives.shares_(weights)
        slopes.put_(pairs.place, -positives.shares * weights.take(pairs.anchor), accumulate=True)
        return terms @ weights, slopes

    def _mine_(
        self, negative: Tensor, positive: Tensor, pairs: BatchPairs, epsilon: float
    ) -> tuple[BatchPairs, Tensor]:
        """Return the positive pairs to keep and their cosines; negatives not to keep become minus infinity."""
        if self.self_positive_bug:
            pairs = pairs.with_own()
            positive = torch.cat([positive, positive.new_ones(pairs.n)])
        hardest = negative.amax(1)
        weakest = positive.new_full((pairs.n,), torch.inf).scatter_reduce_(0, pairs.anchor, positive, "amin")
        negative.masked_fill_(negative + epsilon <= weakest.unsqueeze(1), -torch.inf)
        kept = positive - epsilon < hardest.take(pairs.anchor)
        return pairs.where(kept), positive[kept]

    def _weights(self, negative: Tensor, pairs: BatchPairs) -> Tensor:
        """Return the weight (n,) of each anchor in the mean."""
        if self.empty == "halves":
            return negative.new_full((pairs.n,), 1 / pairs.n)
        survives = (negative.amax(1) > -torch.inf) * pairs.n_positives(negative).clamp_max_(1)
        return survives / (survives.sum().clamp_min_(1) if self.empty == "survivors" else pairs.n)

    def known_bugs(self) -> tuple[str, ...]:
        """Return what `self_positive_bug` does."""
        if not self.self_positive_bug:
            return ()
        return (
            "multi_similarity.self_positive_bug lets an anchor pass as its own positive in mining, as in "
            "pytorch-metric-learning before 0.9.88",
        )
