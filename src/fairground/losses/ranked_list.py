"""Ranked list loss: every class keeps within a hypersphere, with a gap of `margin` to all that does not belong to it.

Formula
    v_in = alpha - d_in,           w_in = e^(T_n v_in),  over the negatives of i with v_in > 0
    v_ip = d_ip - alpha + margin,  w_ip = e^(T_p v_ip),  over the positives of i with v_ip > 0
    L_N(i) = sum_n w_in v_in / sum_n w_in,  L_P(i) = sum_p w_ip v_ip / sum_p w_ip
    L = mean over the batch of  (1 - negative_weight) L_P(i) + negative_weight L_N(i);  d Euclidean, on the unit sphere

Paper
    Wang, Hua, Kodirov, Hu, Garnier and Robertson, "Ranked List Loss for Deep Metric Learning", CVPR 2019, section 3.

Departures from the paper
    The weights w are constants to the gradient, so that they alone share it out, as in the paper;
    `weights = differentiated` is what pytorch-metric-learning does, which also adds 1e-5 a sample to the sums of w.
    The conference version adds L_P and L_N; halves of each are the same up to a factor of 2. Its T_p is 0.
"""

from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import Loss, Real, Tuples, require
from fairground.functional import distances, masked_softmax, normalize, pair_masks


class RankedListLoss(Loss):
    """`alpha` is how far negatives are pushed, `alpha - margin` how near positives are pulled."""

    takes_label_sets = True
    tunable = {
        "alpha": Real(low=0.6, high=1.6),
        "margin": Real(low=0, high=1),
        "negative_temperature": Real(low=0, high=30),
    }
    bounds = {
        "alpha": "(0, 2]",
        "negative_weight": "[0, 1]",
        "negative_temperature": "[0, inf)",
        "positive_temperature": "[0, inf)",
    }

    def __init__(
        self,
        *,
        alpha: float = 1.2,
        margin: float = 0.4,
        negative_weight: float = 0.5,
        negative_temperature: float = 10.0,
        positive_temperature: float = 0.0,
        weights: Literal["constant", "differentiated"] = "constant",
    ) -> None:
        super().__init__()
        require(0 <= margin <= alpha, f"ranked_list.margin must be in [0, alpha] = [0, {alpha}]; got {margin}")
        self.alpha, self.margin, self.negative_weight, self.weights = alpha, margin, negative_weight, weights
        self.negative_temperature, self.positive_temperature = negative_temperature, positive_temperature

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the mean over the batch; with one kind of pair only, that part of it."""
        z = normalize(embeddings)
        d = distances(z, z)
        masks = pair_masks(labels)
        of_positives = self._mean(d - self.alpha + self.margin, masks.positive, self.positive_temperature)
        of_negatives = self._mean(self.alpha - d, masks.negative, self.negative_temperature)
        return (1 - self.negative_weight) * of_positives + self.negative_weight * of_negatives

    def _mean(self, v: Tensor, mask: Tensor, temperature: float) -> Tensor:
        """Return the mean over anchors of sum w v / sum w, w = e^(temperature v), over marked pairs with v > 0."""
        shares = masked_softmax(temperature * v, mask & (v > 0))
        return ((shares.detach() if self.weights == "constant" else shares) * v).sum() / max(1, len(v))
