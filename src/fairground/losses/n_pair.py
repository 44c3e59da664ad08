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

from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples, as_pairs
from fairground.errors import require
from fairground.functional.pairs import batch_pairs, one_random_positive
from fairground.functional.reductions import with_norm_penalty, zero_of
from fairground.kernels.gradients import with_gradient
from fairground.kernels.tuplets import tuplet_loss
from fairground.spec.space import LogReal


class NPairLoss(Loss):
    """`positives` says which positive pairs count; `normalise` makes the products cosines."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, LogReal]] = {"norm_weight": LogReal(low=1e-4, high=1)}
    on_sphere = False

    def __init__(
        self,
        *,
        positives: Literal["all", "one_random", "one_per_class"] = "all",
        normalise: bool = False,
        norm_weight: float = 0.0,
        norm_power: Literal[1, 2] = 1,
    ) -> None:
        super().__init__()
        require(
            positives in ("all", "one_random", "one_per_class"),
            f"n_pair.positives must be 'all', 'one_random' or 'one_per_class'; got '{positives}'",
        )
        require(norm_weight >= 0, f"n_pair.norm_weight must not be negative; got {norm_weight}")
        require(norm_power in (1, 2), f"n_pair.norm_power must be 1 or 2; got {norm_power}")
        self.positives = positives
        self.normalise = normalise
        self.norm_weight = norm_weight
        self.norm_power = norm_power
        self.on_sphere = normalise

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over positive pairs; the norm's price alone without a positive or without a negative."""
        if self.positives == "one_per_class":
            loss = self._one_per_class(embeddings, labels, tuples)
        else:
            pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
            if self.positives == "one_random":
                pairs = one_random_positive(pairs, generator)
            complete = pairs.are_complete
            loss = tuplet_loss(embeddings, pairs, normalise=self.normalise) if complete else zero_of(embeddings)
        return with_norm_penalty(loss, embeddings, self.norm_weight, self.norm_power)

    def _one_per_class(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None) -> Tensor:
        anchor, positive = _first_pair_per_class(labels, tuples)
        if len(anchor) == 0:
            return zero_of(embeddings)
        return with_gradient(embeddings, lambda x: _classify(x, anchor, positive), normalise=self.normalise)


def _classify(x: Tensor, anchor: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of finding each anchor's own positive among all, and its gradient by x (n, d)."""
    anchors, positives = x.index_select(0, anchor), x.index_select(0, positive)
    logarithms = (anchors @ positives.T).log_softmax(1)
    slopes = logarithms.exp().div_(len(anchor))
    slopes.diagonal().sub_(1 / len(anchor))
    gradient = torch.zeros_like(x).index_add_(0, anchor, slopes @ positives)
    return -logarithms.diagonal().mean(), gradient.index_add_(0, positive, slopes.T @ anchors)


def _first_pair_per_class(labels: Tensor, tuples: Tuples | None) -> tuple[Tensor, Tensor]:
    """Return the first two samples of each class that has two, or the first positive pair given of each class."""
    if tuples is None:
        ordered, order = labels.sort(stable=True)
        _, sizes = torch.unique_consecutive(ordered, return_counts=True)
        first = (sizes.cumsum(0) - sizes)[sizes > 1]
        return order.take(first), order.take(first + 1)
    anchor, positive, _, _ = as_pairs(tuples)
    ordered, order = labels[anchor].sort(stable=True)
    _, sizes = torch.unique_consecutive(ordered, return_counts=True)
    first = order.take(sizes.cumsum(0) - sizes)
    return anchor[first], positive[first]
