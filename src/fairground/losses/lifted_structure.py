"""Lifted structure loss: each positive pair is weighed against every negative of both its ends.

Formula
    J_ap = log( sum_{n in N(a)} e^(margin - d_an) + sum_{n in N(p)} e^(margin - d_pn) ) + d_ap
    L = mean over ordered positive pairs (a, p) of  max(0, J_ap)^2 / 2
    with d the Euclidean distance of unit vectors.

Paper
    Oh Song, Xiang, Jegelka and Savarese, "Deep Metric Learning via Lifted Structured Feature Embedding", CVPR 2016,
    section 4.

Departures from the paper
    Embeddings are normalised; the paper leaves their length free. A positive pair without any negative has J = minus
    infinity and adds 0. Pairs a miner chose twice count twice.
"""

from torch import Generator, Tensor, stack

from fairground.contracts.loss import Loss, Pairs, Real, Triplets, Tuples
from fairground.functional import distances, normalize, pair_weights, weighted_logsumexp, weighted_mean
from fairground.kernels import log_sum_losses


class LiftedStructureLoss(Loss):
    """`margin` is the distance beyond which a negative hardly counts."""

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"margin": Real(low=-0.2, high=2.0)}
    bounds = {"margin": "[-2, 2]"}
    kernel = log_sum_losses.lifted_structure

    def __init__(self, *, margin: float = 1.0) -> None:
        super().__init__()
        self.margin = margin

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        d = distances(z, z)
        pairs = pair_weights(embeddings, labels, tuples, repeats=True)
        negatives = weighted_logsumexp(self.margin - d, pairs.negative)
        of_both_ends = stack([negatives.unsqueeze(1).expand_as(d), negatives.expand_as(d)]).logsumexp(0)
        violation = (of_both_ends + d).relu()
        return weighted_mean(violation.square() / 2, pairs.positive)
