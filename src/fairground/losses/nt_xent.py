"""NT-Xent (InfoNCE): every positive pair is a classification of the positive among the anchor's negatives.

Formula
    L = mean over ordered positive pairs (a, p) of  -log( e^(s_ap/T) / (e^(s_ap/T) + sum_n e^(s_an/T)) )
    with s the cosine, n over the samples of other classes; other positives of a are not in the denominator.
    with `decoupled`, the mean of  log( sum_n e^(s_an/T) ) - w_ap s_ap/T,   w_ap = 1 or, with `decoupled_sigma`,
    w_ap = 2 - e^(s_ap/sigma) / mean over all positive pairs of e^(s/sigma)

Paper
    Oord, Li and Vinyals, "Representation Learning with Contrastive Predictive Coding", arXiv 2018, section 2.3; Chen,
    Kornblith, Norouzi and Hinton, "A Simple Framework for Contrastive Learning", ICML 2020. The Reality Check calls it
    N-pairs. `decoupled`: Yeh, Hong, Hsu, Liu, Chen and LeCun, "Decoupled Contrastive Learning", ECCV 2022, section 3.

Departures from the paper
    Positives come from labels, so an anchor may have several; each is a term of its own. `log_floor` adds a constant
    inside the logarithm, as the code behind the Reality Check did (1e-20; `tiny` in later versions): a pair whose
    probability falls below it stops learning. Pairs a miner chose twice count twice.
    Decoupled, the positive is missing in its own denominator, so that a term may be negative; a pair whose anchor has
    no negative does not count.
"""

from math import log
from typing import Literal

from torch import Generator, Tensor, finfo

from fairground.contracts.loss import LogReal, Loss, Pairs, Triplets, Tuples, require
from fairground.functional import decoupled_contrast, means_and_log_sums, memory_blocks, normalize, pair_weights


class NtXentLoss(Loss):
    """`temperature` divides the cosines: the smaller, the more the hardest negatives count.

    `decoupled` is the decoupled contrastive loss; `decoupled_sigma` (0.5 in its paper) weighs far positives more.
    """

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"temperature": LogReal(low=1e-5, high=100)}
    bounds = {"temperature": "(0, inf)", "decoupled_sigma": "(0, inf)"}

    def __init__(
        self,
        *,
        temperature: float = 0.07,
        log_floor: float | Literal["tiny"] | None = None,
        decoupled: bool = False,
        decoupled_sigma: float | None = None,
    ) -> None:
        super().__init__()
        refusal = f"nt_xent.log_floor must be a number between 0 and 1, 'tiny', or left out; got {log_floor!r}"
        require(log_floor in (None, "tiny") or (isinstance(log_floor, float) and 0 < log_floor < 1), refusal)
        require(not decoupled or log_floor is None, "nt_xent.log_floor must be left out where nt_xent.decoupled is set")
        require(decoupled or decoupled_sigma is None, "nt_xent.decoupled_sigma needs nt_xent.decoupled=true")
        self.temperature, self.log_floor = temperature, log_floor
        self.decoupled, self.decoupled_sigma = decoupled, decoupled_sigma

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        if self.decoupled:
            temperatures = (self.temperature, self.decoupled_sigma)
            return decoupled_contrast(embeddings, labels, tuples, *temperatures, per_anchor=False)
        z = normalize(embeddings)

        def parts(rows: slice) -> Tensor:
            logits = memory_blocks.rows_of(z, rows) @ z.T / self.temperature
            pairs = pair_weights(embeddings, labels, tuples, repeats=True, rows=rows)
            # -log(e^v / (e^v + N)) = log(1 + N e^-v)
            terms = means_and_log_sums.tuplet_terms(pairs, negative=logits, positive=logits)
            if self.log_floor is not None:
                # -log(e^-term + floor), which is not 0 without a negative
                log_floor = log(self.floor(terms))
                terms = (-log_floor - means_and_log_sums.softplus(-terms - log_floor)) * pairs.negative.any()
            return means_and_log_sums.weighted_parts(terms, pairs.positive)

        return means_and_log_sums.mean_of_parts(memory_blocks.sum_over_rows(parts, len(z), len(z)))

    def floor(self, like: Tensor) -> float:
        return finfo(like.dtype).tiny if self.log_floor == "tiny" else self.log_floor or 0.0

    def known_bugs(self) -> tuple[str, ...]:
        bug = f"nt_xent.log_floor = {self.log_floor}: less probable pairs have no gradient, as in the Reality Check"
        return (bug,) if self.log_floor is not None else ()
