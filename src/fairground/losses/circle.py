"""Circle loss: every pair is pushed in proportion to how far it still has to go.

Formula
    l_a = log(1 + sum_p e^(-gamma alpha_p (s_ap - 1 + margin)) * sum_n e^(gamma alpha_n (s_an - margin)))
    alpha_p = max(0, 1 + margin - s_ap),  alpha_n = max(0, s_an + margin),  both constants to the gradient
    L = mean over anchors with l_a > 0, among those with a positive and a negative; s is the cosine

Paper
    Sun, Cheng, Zhang, Zhang, Zheng, Wang and Wei, "Circle Loss: A Unified Perspective of Pair Similarity Optimization",
    CVPR 2020, section 3.

Departures from the paper
    Pairs are taken from labels, anchor by anchor. margin 0.4 and gamma 80 are the paper's values for fine-grained
    retrieval.
"""

from torch import Generator, Tensor

from fairground.contracts.loss import Loss, Pairs, Real, Triplets, Tuples
from fairground.functional import normalize, pair_weights, rows_of, softplus, sum_over_rows
from fairground.functional.means_and_log_sums import mean_of_parts, nonzero_parts, weighted_logsumexp
from fairground.kernels import log_sum_losses


class CircleLoss(Loss):
    """`margin` relaxes the decision boundary, a circle in the plane of s_an and s_ap; `gamma` sharpens it."""

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"margin": Real(low=-0.2, high=1.0), "gamma": Real(low=1, high=512)}
    bounds = {"margin": "[-1, 1]", "gamma": "(0, inf)"}
    kernel = log_sum_losses.circle

    def __init__(self, *, margin: float = 0.4, gamma: float = 80.0) -> None:
        super().__init__()
        self.margin, self.gamma = margin, gamma

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)

        def parts(rows: slice) -> Tensor:
            s = rows_of(z, rows) @ z.T
            pairs = pair_weights(embeddings, labels, tuples, rows=rows)
            alpha_p = (1 + self.margin - s).clamp_min(0).detach()
            alpha_n = (s + self.margin).clamp_min(0).detach()
            positives = weighted_logsumexp(-self.gamma * alpha_p * (s - 1 + self.margin), pairs.positive)
            negatives = weighted_logsumexp(self.gamma * alpha_n * (s - self.margin), pairs.negative)
            return nonzero_parts(softplus(positives + negatives))

        return mean_of_parts(sum_over_rows(parts, len(z), len(z)))
