"""NT-Xent (InfoNCE): every positive pair is a classification of the positive among the anchor's negatives.

Formula
    L = mean over ordered positive pairs (a, p) of  -log( e^(s_ap/T) / (e^(s_ap/T) + sum_n e^(s_an/T)) )
    with s the cosine, n over the samples of other classes; other positives of a are not in the denominator.

Paper
    Oord, Li and Vinyals, "Representation Learning with Contrastive Predictive Coding", 2018, section 2.3; Chen,
    Kornblith, Norouzi and Hinton, "A Simple Framework for Contrastive Learning", ICML 2020. The Reality Check calls it
    N-pairs.

Departures from the paper
    Positives come from labels, so an anchor may have several; each is a term of its own. `log_floor` adds a constant
    inside the logarithm, as the code behind the Reality Check did (1e-20; `tiny` in later versions): a pair whose
    probability falls below it stops learning. Pairs a miner chose twice count twice.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples
from fairground.errors import require
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.kernels.gradients import of_products
from fairground.kernels.tuplets import tuplets_
from fairground.spec.space import LogReal


class NtXentLoss(Loss):
    """`temperature` divides the cosines: the smaller, the more the hardest negatives count."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, LogReal]] = {"temperature": LogReal(low=1e-5, high=100)}

    def __init__(self, *, temperature: float = 0.07, log_floor: float | Literal["tiny"] | None = None) -> None:
        super().__init__()
        require(temperature > 0, f"nt_xent.temperature must be above 0; got {temperature}")
        require(
            log_floor is None or log_floor == "tiny" or (isinstance(log_floor, float) and 0 < log_floor < 1),
            f"nt_xent.log_floor must be a number between 0 and 1, 'tiny', or left out; got {log_floor!r}",
        )
        self.temperature = temperature
        self.log_floor = log_floor

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over positive pairs; 0 without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
        if not pairs.are_complete:
            return zero_of(embeddings)
        return of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, pairs), normalise=True)

    def _loss_and_slopes(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        logits = cosines.div_(self.temperature)
        tuplets = tuplets_(logits, logits.take(pairs.place), pairs, within=1 / self.temperature)
        terms, pull = tuplets.terms, tuplets.pull
        if self.log_floor is not None:
            floor = torch.finfo(terms.dtype).tiny if self.log_floor == "tiny" else self.log_floor
            probability = (-terms).exp()
            terms, pull = -(probability + floor).log(), pull * probability / (probability + floor)
        pull = pull / (len(terms) * self.temperature)
        return terms.mean(), tuplets.slopes_(pull, pull)

    def known_bugs(self) -> tuple[str, ...]:
        """Return what `log_floor` does."""
        if self.log_floor is None:
            return ()
        return (
            f"nt_xent.log_floor = {self.log_floor} keeps the floor inside the logarithm of pytorch-metric-learning: "
            "pairs whose probability falls below it have no gradient",
        )
