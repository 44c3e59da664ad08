"""Multi-similarity loss: positives and negatives of an anchor each press through their own soft maximum.

Formula
    l_i = 1/alpha log(1 + sum_p e^(-alpha (s_ip - base)))  +  1/beta log(1 + sum_n e^(beta (s_in - base)))
    L = mean over the batch of l_i, with s the cosine. With `epsilon` the sums keep only
    positives with  s_ip - epsilon < max_n s_in  and negatives with  s_in + epsilon > min_p s_ip.

Paper
    Wang, Han, Huang, Dong and Scott, "Multi-Similarity Loss with General Pair Weighting for Deep Metric Learning", CVPR
    2019, section 4.

Departures from the paper
    alpha 2, beta 40, base 0.5 are the values of the authors' code; the text has 50 for beta and 1 for base. `empty`
    says what becomes of an anchor with an empty sum: `halves` keeps its other half (pytorch-metric-learning),
    `survivors` leaves it out of the mean (Roth et al.), `batch` counts it as 0 (the authors' code).
    `self_positive_bug` makes every anchor a positive of itself while mining, as pytorch-metric-learning did before
    version 0.9.88; the authors' code also drops positives with a cosine above 1 - 1e-5, here only the anchor itself is.
"""

from typing import Literal

from torch import Generator, Tensor, inf, ones_like, stack, where

from fairground.contracts.loss import Loss, Pairs, Real, Triplets, Tuples, require
from fairground.functional import PairWeights, normalize, own_places, pair_weights, rows_of, softplus, sum_over_rows
from fairground.functional.means_and_log_sums import mean_of_parts, weighted_logsumexp, zero_of
from fairground.kernels import log_sum_losses


class MultiSimilarityLoss(Loss):
    """`alpha` and `beta` sharpen the soft maximum over positives and negatives; `base` is the neutral cosine."""

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"alpha": Real(low=0.01, high=100), "beta": Real(low=0.01, high=100), "base": Real(low=0, high=1)}
    bounds = {"alpha": "(0, inf)", "beta": "(0, inf)", "base": "[-1, 1]", "epsilon": "[0, 2]"}
    kernel = log_sum_losses.multi_similarity

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
        refusal = "multi_similarity.self_positive_bug is a bug of the mining: set multi_similarity.epsilon with it"
        require(epsilon is not None or not self_positive_bug, refusal)
        self.alpha, self.beta, self.base, self.epsilon = alpha, beta, base, epsilon
        self.empty, self.self_positive_bug = empty, self_positive_bug

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the reduced terms; a batch with one kind of pair keeps that half, unless `empty` says otherwise."""
        if len(labels) == 0:
            return zero_of(embeddings)
        z = normalize(embeddings)

        def parts(rows: slice) -> Tensor:
            s = rows_of(z, rows) @ z.T
            pairs = pair_weights(embeddings, labels, tuples, rows=rows)
            if self.epsilon is not None:
                positive, negative = pairs
                if self.self_positive_bug:
                    positive = positive + own_places(labels, rows)
                hardest = where(negative > 0, s, -inf).amax(1, keepdim=True)
                weakest = where(positive > 0, s, inf).amin(1, keepdim=True)
                pairs = PairWeights(positive * (s - self.epsilon < hardest), negative * (s + self.epsilon > weakest))
            of_positives = weighted_logsumexp(-self.alpha * (s - self.base), pairs.positive)
            of_negatives = weighted_logsumexp(self.beta * (s - self.base), pairs.negative)
            terms = softplus(of_positives) / self.alpha + softplus(of_negatives) / self.beta
            survives = pairs.positive.any(1) & pairs.negative.any(1)
            if self.empty != "halves":
                terms = where(survives, terms, 0)
            count = survives.sum() if self.empty == "survivors" else ones_like(terms).sum()
            return stack([terms.sum(), count.to(terms.dtype)])

        return mean_of_parts(sum_over_rows(parts, len(z), len(z)))

    def known_bugs(self) -> tuple[str, ...]:
        bug = "multi_similarity.self_positive_bug: an anchor is mined as its own positive (as PML before 0.9.88 did)"
        return (bug,) if self.self_positive_bug else ()
