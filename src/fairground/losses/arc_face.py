"""ArcFace: normalised softmax in which the angle to the own class must win by a margin.

Formula
    theta_ic = arccos(cos(x_i, w_c))
    L = mean_i  -log softmax_c( scale * cos(theta_ic + margin [c = y_i]) )  at c = y_i
    with `fallback`, where theta_i,y_i > pi - margin the own cosine is  cos(theta) - margin sin(margin)

Paper
    Deng, Guo, Xue and Zafeiriou, "ArcFace: additive angular margin loss for deep face recognition", CVPR 2019, eq. 3.
    The fallback is that of the authors' code.

Departures from the paper
    Angles stay a little away from 0 and pi, where the slope of arccos is infinite.
    `roth_icml_no_margin` is the code of Roth et al., ICML 2020: the shift of the own logit was added to the whole row,
    where softmax cancels it, and cosines were clamped at 1e-10. `clamp_min` alone is their later, corrected code.
"""

from math import pi, radians
from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import Loss, Real, Tuples, require
from fairground.functional import prototypes

#: the lowest cosine in the code of Roth et al.
ROTH_CLAMP = 1e-10


class ArcFaceLoss(Loss):
    """`margin` widens the angle to the own class, in `margin_unit`; `scale` multiplies all cosines.

    A search covers 0 to 90 degrees, in the unit the run states.
    """

    is_learnable = True
    tunable = {"margin": Real(low=0.0, high=pi / 2, unit="radians"), "scale": Real(low=0.01, high=200.0)}
    bounds = {"scale": "(0, inf)", "clamp_min": "[-1, 1)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        margin: float = 0.5,
        margin_unit: Literal["radians", "degrees"] = "radians",
        scale: float = 64.0,
        fallback: bool = True,
        clamp_min: float | None = None,
        roth_icml_no_margin: bool = False,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        self.margin = radians(margin) if margin_unit == "degrees" else margin
        refusal = f"arc_face.margin must be in [0, pi] radians or [0, 180] degrees; got {margin} {margin_unit}"
        require(0 <= self.margin <= pi, refusal)
        self.n_classes, self.scale, self.fallback = n_classes, scale, fallback
        self.clamp_min = ROTH_CLAMP if roth_icml_no_margin and clamp_min is None else clamp_min
        self.roth_icml_no_margin = roth_icml_no_margin
        self.weights = prototypes.class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        own = None if self.roth_icml_no_margin else self._widened
        return prototypes.class_cross_entropy(
            embeddings, self.weights, labels, scale=self.scale, similarity=self._clamped, own_similarity=own
        )

    def _clamped(self, cosine: Tensor) -> Tensor:
        return cosine if self.clamp_min is None else cosine.clamp_min(self.clamp_min)

    def _widened(self, cosine: Tensor) -> Tensor:
        return prototypes.widened_cosine(prototypes.angles(cosine), self.margin, fallback=self.fallback)

    def known_bugs(self) -> tuple[str, ...]:
        bugs = []
        if self.roth_icml_no_margin:
            bugs.append("arc_face.roth_icml_no_margin: the margin cancels in the softmax, as in Roth et al. 2020 (E11)")
        if self.clamp_min is not None:
            bugs.append(f"arc_face.clamp_min: cosines below {self.clamp_min:g} get no gradient, as in Roth et al. 2020")
        return tuple(bugs)
