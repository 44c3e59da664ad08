"""SphereFace: softmax over angles in which the angle to the own class counts several times.

Formula
    theta_ic = arccos(cos(x_i, w_c)),   k = floor(margin * theta / pi)
    psi(theta) = (-1)^k cos(margin * theta) - 2k
    own(theta) = (cosine_weight * cos(theta) + psi(theta)) / (cosine_weight + 1)
    L = mean_i  -log softmax_c( scale * |x_i| * (own(theta_ic) if c = y_i else cos(theta_ic)) )  at c = y_i

Paper
    Liu, Wen, Yu, Li, Raj and Song, "SphereFace: deep hypersphere embedding for face recognition", CVPR 2017, eqs. 6-7.

Departures from the paper
    The paper has no `cosine_weight`. The authors' code lets it fall from 1,000 to 5 in the course of training; here it
    is 5 from the first step, and `margin` is 2 by default, not 4. By the letter of the paper (weight 0) a network that
    is trained from scratch shrinks its embeddings to nothing: the multiplied angle makes the own class' logit the
    lowest, and length is the quickest way out. In the setting of `docs/benchmarks.md`, learning (icons, 200 steps,
    validation MAP@R): 26.2 % as here, 13.8 % with margin 4, 9.2 % with weight 0 and 9.4 % with both, which is hardly
    more than the 8.6 % of the untrained network; 31.3 % with a rate of 0.1 for the class weights, where all losses of
    that table have 0.01. `scale` is added.
    Angles stay a little away from 0 and pi, where the slope of arccos is infinite.
"""

from math import pi
from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import Integer, LogReal, Loss, Tuples, require
from fairground.functional import angles, class_cross_entropy, class_vectors, norms


class SphereFaceLoss(Loss):
    """`margin` is how many times the angle to the own class counts; `scale` multiplies all logits.

    `cosine_weight` is how much of the plain cosine is mixed into the own logit.
    """

    is_learnable = True
    tunable = {"margin": Integer(low=1, high=6), "scale": LogReal(low=0.01, high=100.0)}
    bounds = {"scale": "(0, inf)", "cosine_weight": "[0, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        margin: int = 2,
        scale: float = 1.0,
        cosine_weight: float = 5.0,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        require(margin >= 1 and margin == int(margin), f"sphere_face.margin must be a whole number >= 1; got {margin}")
        self.n_classes, self.cosine_weight, self.margin, self.scale = n_classes, cosine_weight, margin, scale
        self.weights = class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        scale = self.scale * norms(embeddings)
        return class_cross_entropy(embeddings, self.weights, labels, scale=scale, own_similarity=self._softened)

    def _softened(self, cosine: Tensor) -> Tensor:
        theta = angles(cosine)
        turned = self.margin * theta
        k = (turned / pi).floor()
        psi = (1 - 2 * (k % 2)) * turned.cos() - 2 * k
        return (self.cosine_weight * theta.cos() + psi) / (self.cosine_weight + 1)
