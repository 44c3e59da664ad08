"""CosFace: normalised softmax in which the cosine with the own class must win by a margin.

Formula
    L = mean_i  -log softmax_c( scale * (s_ic - margin [c = y_i]) )  at c = y_i,   s_ic = cos(x_i, w_c)

Paper
    Wang, Wang, Zhou, Ji, Gong, Zhou, Li and Liu, "CosFace: large margin cosine loss for deep face recognition", CVPR
    2018, eq. 4.

Departures from the paper
    None.
"""

from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import Loss, Real, Tuples
from fairground.functional.prototypes import class_cross_entropy, class_vectors


class CosFaceLoss(Loss):
    """`margin` is taken off the cosine with the own class; `scale` multiplies all cosines."""

    is_learnable = True
    tunable = {"margin": Real(low=0.0, high=1.0), "scale": Real(low=0.01, high=200.0)}
    bounds = {"margin": "[0, 2]", "scale": "(0, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        margin: float = 0.35,
        scale: float = 64.0,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        self.n_classes, self.margin, self.scale = n_classes, margin, scale
        self.weights = class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        return class_cross_entropy(
            embeddings, self.weights, labels, scale=self.scale, own_similarity=lambda own: own - self.margin
        )
