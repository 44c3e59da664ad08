"""Tuplet margin loss: a positive, given a head start of some degrees, must beat all negatives of its anchor together.

Formula
    L = mean over ordered positive pairs (a, p) of  log(1 + sum_n exp( s (cos theta_an - cos(theta_ap - margin)) ))
    with theta the angle between two embeddings and s the scale.

Paper
    Yu and Tao, "Deep Metric Learning with Tuplet Margin Loss", ICCV 2019, section 3.2.

Departures from the paper
    The paper draws one positive and one negative of each other class; here every positive pair meets all negatives of
    its anchor. The intra-pair variance term of section 3.4 is not included. Pairs a miner chose twice count twice.
    Cosines of positives are kept 1e-7 away from -1 and 1, where the slope of arccos is infinite.
"""

from math import radians

from torch import Generator, Tensor

from fairground.contracts.loss import Loss, Pairs, Real, Triplets, Tuples
from fairground.functional import normalize, pair_weights, tuplet_terms, weighted_mean
from fairground.kernels import log_sum_losses


class TupletMarginLoss(Loss):
    """`margin`, in degrees, is taken off the angle of a positive; `scale` multiplies all cosines."""

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"margin": Real(low=0, high=30), "scale": Real(low=1, high=200)}
    bounds = {"margin": "[0, 90]", "scale": "(0, inf)"}
    kernel = log_sum_losses.tuplet_margin

    def __init__(self, *, margin: float = 5.73, scale: float = 64.0) -> None:
        super().__init__()
        self.margin, self.scale = margin, scale

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        cosines = z @ z.T
        theta = cosines.clamp(-1 + 1e-7, 1 - 1e-7).arccos()
        eased = (theta - radians(self.margin)).cos()
        pairs = pair_weights(embeddings, labels, tuples, repeats=True)
        terms = tuplet_terms(pairs, negative=self.scale * cosines, positive=self.scale * eased)
        return weighted_mean(terms, pairs.positive)
