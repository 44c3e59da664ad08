"""Unified cross-entropy: each class answers yes or no by itself, all of them with the same learned threshold.

Formula
    L = mean_i [ log(1 + e^(b - scale (s_iy - margin))) + negative_weight * sum_{c != y} log(1 + e^(scale s_ic - b)) ]
    s_ic = cos(x_i, w_c),  y = y_i,  b = bias + v with v learned from 0

Paper
    Zhou, Jia, Li, Shen and Duan, "UniFace: Unified Cross-Entropy Loss for Deep Face Recognition", ICCV 2023, section 3.

Departures from the paper
    All classes enter the sum, where the authors may draw some. `clamp_exponents` keeps exponents within -scale..scale,
    as the authors' code does against overflow: beyond, samples have no gradient, the hardest ones first.
"""

from math import inf, log
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from fairground.contracts.loss import Loss, Real, Tuples
from fairground.functional import class_vectors, normalize, softplus, sum_over_rows


class UnifiedCrossEntropyLoss(Loss):
    """`margin` is taken off the cosine with the own class; `bias` starts at log(10 n_classes) unless given."""

    is_learnable = True
    tunable = {"margin": Real(low=0.0, high=1.0), "scale": Real(low=1.0, high=200.0)}
    bounds = {"margin": "[0, 2]", "scale": "(0, inf)", "negative_weight": "[0, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        margin: float = 0.4,
        scale: float = 64.0,
        negative_weight: float = 1.0,
        bias: float | None = None,
        clamp_exponents: bool = False,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        self.n_classes, self.margin, self.scale, self.negative_weight = n_classes, margin, scale, negative_weight
        self.largest = scale if clamp_exponents else inf
        self.bias = log(10 * n_classes) if bias is None else bias
        self.bias_change = nn.Parameter(torch.zeros(()))
        self.weights = class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z, w = normalize(embeddings), normalize(self.weights.to(embeddings.dtype))
        threshold = self.bias + self.bias_change.to(z.dtype)

        def cost(exponents: Tensor) -> Tensor:
            return softplus(exponents.clamp(-self.largest, self.largest))

        def others(classes: slice) -> Tensor:
            terms = cost(self.scale * (z @ w[classes].T) - threshold)
            numbers = torch.arange(classes.start, classes.stop, device=labels.device)
            return terms.masked_fill(labels.unsqueeze(1) == numbers, 0).sum()

        own = cost(threshold - self.scale * ((z * w[labels]).sum(1) - self.margin))
        negatives = sum_over_rows(others, len(w), len(z))
        return (own.sum() + self.negative_weight * negatives) / max(1, len(z))

    def known_bugs(self) -> tuple[str, ...]:
        bug = "unified_cross_entropy.clamp_exponents: the hardest samples have no gradient, as in the authors' code"
        return (bug,) if self.largest < inf else ()
