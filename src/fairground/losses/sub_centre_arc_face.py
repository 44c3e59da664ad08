"""Sub-centre ArcFace: ArcFace with several centres a class, of which the nearest counts.

Formula
    s_ic = max_k cos(x_i, w_ck),   theta_ic = arccos(s_ic)
    L = mean_i  -log softmax_c( scale * cos(theta_ic + margin [c = y_i]) )  at c = y_i
    with `fallback`, where theta_i,y_i > pi - margin the own cosine is  cos(theta) - margin sin(margin)

Paper
    Deng, Guo, Liu, Gong and Zafeiriou, "Sub-center ArcFace: boosting face recognition by large-scale noisy web faces",
    ECCV 2020, eqs. 3-4.

Departures from the paper
    Only the loss: the paper's second step, dropping samples far from their class's dominant centre and training again
    with one centre, is left to the user.
    Angles stay a little away from 0 and pi, where the slope of arccos is infinite.
"""

from math import pi, radians
from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import Integer, Loss, Real, Tuples, require
from fairground.functional import prototypes


class SubCentreArcFaceLoss(Loss):
    """`n_centres` centres per class; `margin` widens the angle to the own class, in `margin_unit`.

    `weights` is (n_classes, n_centres, embedding_dim). A search covers 0 to 90 degrees, in the unit the run states.
    """

    is_learnable = True
    tunable = {
        "margin": Real(low=0.0, high=pi / 2, unit="radians"),
        "scale": Real(low=0.01, high=200.0),
        "n_centres": Integer(low=1, high=10),
    }
    bounds = {"n_centres": "[1, inf)", "scale": "(0, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        n_centres: int = 3,
        margin: float = 0.5,
        margin_unit: Literal["radians", "degrees"] = "radians",
        scale: float = 64.0,
        fallback: bool = True,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        self.margin = radians(margin) if margin_unit == "degrees" else margin
        allowed, given = "in [0, pi] radians or [0, 180] degrees", f"{margin} {margin_unit}"
        require(0 <= self.margin <= pi, f"sub_centre_arc_face.margin must be {allowed}; got {given}")
        self.n_classes, self.scale, self.fallback = n_classes, scale, fallback
        self.weights = prototypes.class_vectors((n_classes, n_centres, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        return prototypes.class_cross_entropy(
            embeddings,
            self.weights,
            labels,
            scale=self.scale,
            similarity=lambda s: s.amax(1),
            own_similarity=self._widened,
        )

    def _widened(self, cosine: Tensor) -> Tensor:
        return prototypes.widened_cosine(prototypes.angles(cosine), self.margin, fallback=self.fallback)
