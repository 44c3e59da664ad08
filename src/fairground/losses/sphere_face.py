"""SphereFace: softmax over angles in which the angle to the own class counts several times.

Formula
    theta_ic = arccos(cos(x_i, w_c)),   k = floor(margin * theta / pi)
    psi(theta) = (-1)^k cos(margin * theta) - 2k
    L = mean_i  -log softmax_c( scale * |x_i| * (psi(theta_ic) if c = y_i else cos(theta_ic)) )  at c = y_i

Paper
    Liu et al., "SphereFace: deep hypersphere embedding for face recognition", CVPR 2017, eqs. 6-7.

Departures from the paper
    Without the annealing from plain softmax that the authors' code needs for large margins; `scale` is added.
    Angles stay a little away from 0 and pi, where the slope of arccos is infinite.
"""

from collections.abc import Mapping
from math import pi
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult, Loss
from fairground.contracts.tuples import Tuples
from fairground.errors import require
from fairground.functional.distances import norms
from fairground.functional.prototypes import angles, class_vectors, cosines, mean_cross_entropy
from fairground.kernels import angular_softmax
from fairground.spec.reference import Reference
from fairground.spec.space import Integer, LogReal, Range


class SphereFaceLoss(Loss):
    """`margin` is how many times the angle to the own class counts; `scale` multiplies all logits."""

    reference: ClassVar[Reference] = Reference(
        authors="Liu, Wen, Yu, Li, Raj and Song",
        title="SphereFace: deep hypersphere embedding for face recognition",
        venue="CVPR",
        year=2017,
    )
    is_learnable: ClassVar[bool] = True
    tunable: ClassVar[Mapping[str, Range]] = {"margin": Integer(low=1, high=6), "scale": LogReal(low=0.01, high=100.0)}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        margin: int = 4,
        scale: float = 1.0,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        require(margin >= 1 and margin == int(margin), f"sphere_face.margin must be a whole number >= 1; got {margin}")
        require(scale > 0, f"sphere_face.scale must be above 0; got {scale}")
        self.n_classes = n_classes
        self.margin = margin
        self.scale = scale
        self.weights = class_vectors((n_classes, embedding_dim), initialisation, "sphere_face")

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean cross-entropy over cosines times embedding length, the own angle multiplied."""
        own = labels.unsqueeze(1)
        cosine = cosines(embeddings, self.weights)
        turned = self.margin * angles(cosine.gather(1, own))
        k = (turned / pi).floor()
        psi = (1 - 2 * (k % 2)) * turned.cos() - 2 * k
        return mean_cross_entropy(self.scale * norms(embeddings) * cosine.scatter(1, own, psi), labels)

    def kernel(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> KernelResult:
        """Return the same and its gradients."""
        return angular_softmax.sphere_face(embeddings, self.weights, labels, scale=self.scale, margin=self.margin)
