"""AdaFace: the margin moves from the angle to the cosine as embeddings get longer, which clear images have.

Formula
    h_i = clip(concentration (|x_i| - mean) / (deviation + 0.001), -1, 1),  |x_i| in [0.001, 100], without gradient
    own(theta) = cos(clip(theta - margin h_i, e, pi - e)) - margin (1 + h_i),   e = 0.001
    L = mean_i  -log softmax_c( scale * (own(theta_ic) if c = y_i else cos(theta_ic)) )  at c = y_i
    mean and deviation of the norms: running, each batch counts `rate`

Paper
    Kim, Jain and Liu, "AdaFace: Quality Adaptive Margin for Face Recognition", CVPR 2022, equations 10 to 15.

Departures from the paper
    Cosines stay 0.001 away from -1 and 1, as in the authors' code, where running values also start at 20 and 100. The
    norm stands for quality where a network was trained on images of very different quality; test it for others. A
    batch of one has no deviation, and leaves it as it was.
"""

from functools import partial
from math import pi
from typing import Literal

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Real, Tuples
from fairground.functional import class_cross_entropy, class_vectors, norms

#: angles stay this far from 0 and pi, cosines from -1 and 1
CLEARANCE = 1e-3


class AdafaceLoss(Loss):
    """`margin` and `scale` as in `cos_face`, which it is for a `concentration` of 0; `rate` 1 is the batch alone."""

    is_learnable = True
    tunable = {
        "margin": Real(low=0.0, high=1.0),
        "concentration": Real(low=0.0, high=1.0),
        "scale": Real(low=1.0, high=200.0),
        "rate": LogReal(low=1e-3, high=1.0),
    }
    bounds = {"margin": "[0, 1]", "concentration": "[0, inf)", "scale": "(0, inf)", "rate": "(0, 1]"}
    mean: Tensor
    deviation: Tensor

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        margin: float = 0.4,
        concentration: float = 0.333,
        scale: float = 64.0,
        rate: float = 0.01,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        self.n_classes, self.margin, self.concentration = n_classes, margin, concentration
        self.scale, self.rate = scale, rate
        self.weights = class_vectors((n_classes, embedding_dim), initialisation)
        self.register_buffer("mean", torch.tensor(20.0))
        self.register_buffer("deviation", torch.tensor(100.0))

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        lengths = norms(embeddings.detach()).clamp(1e-3, 100)
        if self.training:
            some = lengths.to(self.mean.dtype)
            if len(some) > 0:
                self.mean.lerp_(some.mean(), self.rate)
            if len(some) > 1:
                self.deviation.lerp_(some.std(), self.rate)
        quality = (lengths - self.mean.to(lengths.dtype)) / (self.deviation.to(lengths.dtype) + 1e-3)
        quality = (self.concentration * quality).clamp(-1, 1)

        def own(cosine: Tensor) -> Tensor:
            theta = (cosine.arccos() - self.margin * quality).clamp(CLEARANCE, pi - CLEARANCE)
            return theta.cos() - self.margin * (1 + quality)

        clear = partial(torch.clamp, min=-1 + CLEARANCE, max=1 - CLEARANCE)
        return class_cross_entropy(
            embeddings, self.weights, labels, scale=self.scale, similarity=clear, own_similarity=own
        )
