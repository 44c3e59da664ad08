"""Neighbourhood components analysis: the chance that a random neighbour, near ones likelier, is of the anchor's class.

Formula
    L = mean over anchors i with positives of  -log( sum_p e^(-scale D_ip) / sum_{k != i} e^(-scale D_ik) )
    with D the squared Euclidean distance of unit vectors.

Paper
    Goldberger, Roweis, Hinton and Salakhutdinov, "Neighbourhood Components Analysis", NIPS 2004, section 2.

Departures from the paper
    The mean logarithm of the chance instead of its sum (the paper offers both), and distances of unit vectors; a zero
    embedding, which has no direction, is at distance 1 of all others.
"""

from torch import Generator, Tensor, where

from fairground.contracts.loss import LogReal, Loss, Tuples
from fairground.functional import normalize, pair_weights, softplus, squared_distances, weighted_logsumexp
from fairground.kernels import log_sum_losses


class NcaLoss(Loss):
    """`scale` multiplies squared distances: the larger, the fewer samples count as near."""

    takes_label_sets = True
    tunable = {"scale": LogReal(low=0.01, high=100)}
    bounds = {"scale": "(0, inf)"}
    kernel = log_sum_losses.nca

    def __init__(self, *, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        logits = -self.scale * squared_distances(z, z)
        pairs = pair_weights(embeddings, labels, tuples)
        positives, negatives = (weighted_logsumexp(logits, weights) for weights in pairs)
        has_positive = pairs.positive.any(1)
        # -log(P / (P + N)) = log(1 + N / P)
        terms = where(has_positive, softplus(negatives - positives), 0)
        return terms.sum() / has_positive.sum().clamp_min(1)
