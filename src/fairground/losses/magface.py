"""MagFace: ArcFace with a margin that grows with the length of the embedding, and a price that rewards length.

Formula
    a_i = |x_i| within [low_norm, high_norm];  m_i = linear in a_i, from low_margin to high_margin
    own(theta) = cos(theta + m_i) where cos(theta) > 0, else cos(theta)
    L = mean_i  -log softmax_c( scale * (own(theta_ic) if c = y_i else cos(theta_ic)) )  at c = y_i
        + norm_weight * mean_i( a_i / high_norm^2 + 1 / a_i )

Paper
    Meng, Zhao, Huang and Zhou, "MagFace: A Universal Representation for Face Recognition and Quality Assessment", CVPR
    2021, equations 3 and 4.

Departures from the paper
    The plain cosine beyond a right angle is the "easy margin" of the authors' code, which their runs use. The borders
    of the norm are those of their face networks: embeddings shorter than `low_norm` or longer than `high_norm` learn
    nothing about length. Angles stay a little away from 0 and pi.
"""

from typing import Literal

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import Loss, Real, Tuples, require
from fairground.functional import angles, class_cross_entropy, class_vectors, norms


class MagfaceLoss(Loss):
    """Margins in radians; `norm_weight` multiplies the price of short embeddings."""

    is_learnable = True
    tunable = {
        "low_margin": Real(low=0.0, high=0.6),
        "high_margin": Real(low=0.6, high=1.2),
        "scale": Real(low=1.0, high=200.0),
        "norm_weight": Real(low=0.0, high=50.0),
    }
    bounds = {
        "low_norm": "(0, inf)",
        "low_margin": "[0, 1.58)",
        "high_margin": "[0, 1.58)",
        "scale": "(0, inf)",
        "norm_weight": "[0, inf)",
    }

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        low_norm: float = 10.0,
        high_norm: float = 110.0,
        low_margin: float = 0.45,
        high_margin: float = 0.8,
        scale: float = 64.0,
        norm_weight: float = 20.0,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        require(high_norm > low_norm, f"magface.high_norm must be above magface.low_norm, {low_norm}; got {high_norm}")
        refusal = f"magface.high_margin must be at least magface.low_margin, {low_margin}; got {high_margin}"
        require(high_margin >= low_margin, refusal)
        self.n_classes, self.low_norm, self.high_norm = n_classes, low_norm, high_norm
        self.low_margin, self.slope = low_margin, (high_margin - low_margin) / (high_norm - low_norm)
        self.scale, self.norm_weight = scale, norm_weight
        self.weights = class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        lengths = norms(embeddings).clamp(self.low_norm, self.high_norm)
        margins = self.low_margin + self.slope * (lengths - self.low_norm)

        def own(cosine: Tensor) -> Tensor:
            return torch.where(cosine > 0, (angles(cosine) + margins).cos(), cosine)

        entropy = class_cross_entropy(embeddings, self.weights, labels, scale=self.scale, own_similarity=own)
        price = (lengths / self.high_norm**2 + 1 / lengths).sum() / max(1, len(lengths))
        return entropy + self.norm_weight * price
