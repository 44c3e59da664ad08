"""Supervised contrastive loss: an anchor should find its positives, on average, among all other samples.

Formula
    l_a = -1/|P(a)| sum_{p in P(a)} log( e^(s_ap/T) / sum_{k != a} e^(s_ak/T) ),  with s the cosine
    L = mean over anchors with positives of l_a (those with l_a > 0)
    with `decoupled`, k runs over negatives alone, s_ap counts w_ap times and every l_a counts;  w_ap = 1 or, with
    `decoupled_sigma`, w_ap = 2 - e^(s_ap/sigma) / mean over all positive pairs of e^(s/sigma)

Paper
    Khosla, Teterwak, Wang, Sarna, Tian, Isola, Maschinot, Liu and Krishnan, "Supervised Contrastive Learning", NeurIPS
    2020, equation 2 (the mean outside the logarithm). `decoupled`: Yeh, Hong, Hsu, Liu, Chen and LeCun, "Decoupled
    Contrastive Learning", ECCV 2022, section 3.

Departures from the paper
    Pairs come from labels, not from two views of an image. With a miner's pairs, k runs over those of the anchor. The
    factor T / T_base of the authors' code, which only scales the step, is left out. Decoupled, a loss may be negative,
    and an anchor without a negative does not count.
"""

from torch import Generator, Tensor, maximum, where

from fairground.contracts import KernelResult, LossInputs
from fairground.contracts.loss import LogReal, Loss, Pairs, Triplets, Tuples, require
from fairground.functional import decoupled_contrast, normalize, pair_weights, rows_of, sum_over_rows
from fairground.functional.means_and_log_sums import mean_of_parts, nonzero_parts, weighted_logsumexp
from fairground.kernels import log_sum_losses


class SupConLoss(Loss):
    """`temperature` divides the cosines: the smaller, the more the hardest samples count.

    `decoupled` is the decoupled contrastive loss; `decoupled_sigma` (0.5 in its paper) weighs far positives more.
    """

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"temperature": LogReal(low=1e-3, high=10)}
    bounds = {"temperature": "(0, inf)", "decoupled_sigma": "(0, inf)"}

    def __init__(
        self, *, temperature: float = 0.1, decoupled: bool = False, decoupled_sigma: float | None = None
    ) -> None:
        super().__init__()
        require(decoupled or decoupled_sigma is None, "sup_con.decoupled_sigma needs sup_con.decoupled=true")
        self.temperature, self.decoupled, self.decoupled_sigma = temperature, decoupled, decoupled_sigma

    def kernel(self, inputs: LossInputs) -> KernelResult | None:
        return None if self.decoupled else log_sum_losses.sup_con(self, inputs)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        if self.decoupled:
            temperatures = (self.temperature, self.decoupled_sigma)
            return decoupled_contrast(embeddings, labels, tuples, *temperatures, per_anchor=True)
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
