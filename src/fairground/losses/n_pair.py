"""N-pair loss: the positive must score higher than all negatives of the batch together, by raw inner products.

Formula
    all, one_random:  L = mean over positive pairs (a, p) of  log(1 + sum_n exp(x_a.x_n - x_a.x_p))
                      over all ordered pairs, or one random positive for each anchor; n over samples of other classes
    one_per_class:    L = mean over classes i of  -log softmax_j(x_(a_i).x_(p_j))_i
                      with (a_i, p_i) the first two samples of class i: negatives are the other classes' positives
    plus  norm_weight * mean_i ||x_i||^norm_power

Paper
    Sohn, "Improved Deep Metric Learning with Multi-class N-pair Loss Objective", NIPS 2016, section 3.

Departures from the paper
    Sohn's tuples are `one_per_class`; the default takes every positive pair and all negatives. Roth et al. draw one
    positive for each anchor and weigh the norm, not its square, by 0.005. Exponentials are summed in the logarithmic
    domain: the plain sum overflows for long embeddings. Pairs a miner chose twice count twice.
"""

from typing import Literal

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Pairs, Triplets, Tuples, as_pairs, is_eager
from fairground.functional import normalize, one_random_positive, pair_weights, tuplet_terms, weighted_logsumexp
from fairground.functional.means_and_log_sums import weighted_mean, with_norm_penalty, zero_of


class NPairLoss(Loss):
    """`positives` says which positive pairs count; `normalise` makes the products cosines."""

    accepts = (Pairs, Triplets)
    tunable = {"norm_weight": LogReal(low=1e-4, high=1)}
    bounds = {"norm_weight": "[0, inf)"}
    on_sphere: bool = False

    def __init__(
        self,
        *,
        positives: Literal["all", "one_random", "one_per_class"] = "all",
        normalise: bool = False,
        norm_weight: float = 0.0,
        norm_power: Literal[1, 2] = 1,
    ) -> None:
        super().__init__()
        self.positives, self.norm_weight, self.norm_power = positives, norm_weight, norm_power
        self.on_sphere = self.normalise = normalise
        self.is_random = positives == "one_random"

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the mean over positive pairs; the norm's price alone without a positive or without a negative."""
        x = normalize(embeddings) if self.normalise else embeddings
        if self.positives == "one_per_class":
            loss = self._one_per_class(x, labels, tuples)
        else:
            pairs = pair_weights(embeddings, labels, tuples, repeats=True)
            if self.positives == "one_random":
                pairs = one_random_positive(pairs, generator)
            products = x @ x.T
            loss = weighted_mean(tuplet_terms(pairs, negative=products, positive=products), pairs.positive)
        return with_norm_penalty(loss, embeddings, self.norm_weight, self.norm_power)

    def _one_per_class(self, x: Tensor, labels: Tensor, tuples: Tuples | None) -> Tensor:
        """Return the mean cross-entropy of finding each class's anchor its own positive among those of all classes."""
        if len(labels) == 0 or (tuples is not None and len(as_pairs(tuples).positive) == 0):
            return zero_of(x)
        anchor, positive, exists = _first_pair_per_class(labels, tuples)
        if is_eager():
            # Shapes may depend on values here: one row per class instead of one per sample.
            anchor, positive, exists = anchor[exists], positive[exists], exists[exists]
        logits = x[anchor] @ x[positive].T
        terms = weighted_logsumexp(logits, exists.to(x.dtype)) - logits.diagonal()
        # The zero lets a diverged row that is in no pair show.
        return torch.where(exists, terms, 0).sum() / exists.sum().clamp_min(1) + zero_of(x)


def _first_pair_per_class(labels: Tensor, tuples: Tuples | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return anchors and positives (n,), at most one pair for each class, and which of them are one.

    They are the first two samples of the class, or the first of its positive pairs given.
    """
    ordered, order = labels.sort(stable=True)
    is_first = torch.cat([ordered.new_ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]])
    if tuples is None:
        return order, order.roll(-1), is_first & ~is_first.roll(-1)
    anchor, positive, _, _ = as_pairs(tuples)
    # A class goes by the place where it starts in the order.
    own = torch.searchsorted(ordered, labels[anchor])
    number = torch.arange(len(anchor), device=anchor.device)
    earliest = torch.full_like(order, len(anchor)).scatter_reduce(0, own, number, "amin")
    chosen = earliest.clamp_max(len(anchor) - 1)
    return anchor[chosen], positive[chosen], earliest < len(anchor)
