"""ElasticFace: ArcFace or CosFace with a margin drawn for each sample, so that no class is held to one width.

Formula
    m_i ~ N(margin, deviation^2)
    own(theta) = cos(theta + m_i) (`form = arc`) or cos(theta) - m_i (`form = cos`)
    L = mean_i  -log softmax_c( scale * (own(theta_ic) if c = y_i else cos(theta_ic)) )  at c = y_i
    `sorted_margins`: the drawn margins go to the samples in order, the largest to the one farthest from its class

Paper
    Boutros, Damer, Kirchbuchner and Kuijper, "ElasticFace: Elastic Margin Loss for Deep Face Recognition", CVPR
    Workshops 2022, equations 5 to 7; with `sorted_margins` ElasticFace+.

Departures from the paper
    Its code looks margins up by the sample at a rank, where the rank of the sample is meant; ours uses the rank. For
    `form = cos` the paper has margin 0.35; its deviation is 0.05, with sorted margins 0.0175 (arc) and 0.02 (cos).
    Angles stay a little away from 0 and pi.
"""

from math import pi
from typing import Literal

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import Loss, Real, Tuples
from fairground.functional import angles, class_cross_entropy, class_vectors


class ElasticfaceLoss(Loss):
    """`margin` is the mean of the margins, radians or cosines by `form`, and `deviation` their standard deviation."""

    is_learnable = True
    is_random = True
    tunable = {
        "margin": Real(low=0.0, high=1.0),
        "deviation": Real(low=0.0, high=0.2),
        "scale": Real(low=1.0, high=200.0),
    }
    bounds = {"margin": f"[0, {pi}]", "deviation": "[0, inf)", "scale": "(0, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        form: Literal["arc", "cos"] = "arc",
        margin: float = 0.5,
        deviation: float = 0.05,
        sorted_margins: bool = False,
        scale: float = 64.0,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        self.n_classes, self.form, self.scale = n_classes, form, scale
        self.margin, self.deviation, self.sorted_margins = margin, deviation, sorted_margins
        self.weights = class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        home = embeddings.device if generator is None else generator.device
        drawn = torch.randn(len(labels), 1, generator=generator, device=home)
        margins = self.margin + self.deviation * drawn.to(embeddings.device, embeddings.dtype)

        def own(cosine: Tensor) -> Tensor:
            given = margins
            if self.sorted_margins:
                nearness = cosine.detach().argsort(dim=0, descending=True).argsort(dim=0)
                given = margins.sort(dim=0).values.gather(0, nearness)
            return (angles(cosine) + given).cos() if self.form == "arc" else cosine - given

        return class_cross_entropy(embeddings, self.weights, labels, scale=self.scale, own_similarity=own)
