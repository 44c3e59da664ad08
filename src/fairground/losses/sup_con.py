"""Supervised contrastive loss: an anchor should find its positives, on average, among all other samples.

Formula
    l_a = -1/|P(a)| sum_{p in P(a)} log( e^(s_ap/T) / sum_{k != a} e^(s_ak/T) ),  with s the cosine
    L = mean over anchors with positives of l_a (those with l_a > 0)

Paper
    Khosla, Teterwak, Wang, Sarna, Tian, Isola, Maschinot, Liu and Krishnan, "Supervised Contrastive Learning", NeurIPS
    2020, equation 2 (the mean outside the logarithm).

Departures from the paper
    Pairs come from labels, not from two views of an image. With a miner's pairs, k runs over those of the anchor. The
    factor T / T_base of the authors' code, which only scales the step, is left out.
"""

from torch import Generator, Tensor, maximum, where

from fairground.contracts.loss import LogReal, Loss, Pairs, Triplets, Tuples
from fairground.functional import normalize, pair_weights, rows_of, sum_over_rows
from fairground.functional.means_and_log_sums import mean_of_parts, nonzero_parts, weighted_logsumexp
from fairground.kernels import log_sum_losses


class SupConLoss(Loss):
    """`temperature` divides the cosines: the smaller, the more the hardest samples count."""

    accepts = (Pairs, Triplets)
    tunable = {"temperature": LogReal(low=1e-3, high=10)}
    bounds = {"temperature": "(0, inf)"}
    kernel = log_sum_losses.sup_con

    def __init__(self, *, temperature: float = 0.1) -> None:
        super().__init__()
        self.temperature = temperature

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)

        def parts(rows: slice) -> Tensor:
            logits = rows_of(z, rows) @ z.T / self.temperature
            pairs = pair_weights(embeddings, labels, tuples, rows=rows)
            n_positives = pairs.positive.sum(1)
            everyone = weighted_logsumexp(logits, maximum(pairs.positive, pairs.negative))
            mean_positive = (logits * pairs.positive).sum(1) / n_positives.clamp_min(1)
            # Where labels decide, a batch with a negative pair has one for every row.
            is_eligible = (n_positives > 0) & pairs.negative.any()
            return nonzero_parts(where(is_eligible, everyone - mean_positive, 0))

        return mean_of_parts(sum_over_rows(parts, len(z), len(z)))
