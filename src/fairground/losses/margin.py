"""Margin loss: positives within a learnable distance beta, negatives outside it, both by a margin.

Formula
    l+ = [d_ap - beta + margin]_+    l- = [beta - d_an + margin]_+
    L = (sum over triplets of  l+ + l-) / K + beta_weight * mean over triplets of beta
    K = how many l+ and l- are above 0 (`count = pairs`), or how many triplets have one above 0 (`count = tuples`)

Paper
    Wu, Manmatha, Smola and Krähenbühl, "Sampling Matters in Deep Embedding Learning", ICCV 2017, section 4.2.

Departures from the paper
    One beta for all, or one for each class of the anchor (`beta_kind`); none for each image. Wu et al. sum the betas,
    which makes their weight grow with the batch. Roth et al. print the loss without its hinge; K by tuples is what
    their code divides by, up to two times less than K by pairs.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Triplets, Tuples
from fairground.errors import require
from fairground.functional.distances import distances_of_pairs, normalize
from fairground.functional.pairs import list_positives
from fairground.functional.prototypes import class_indices
from fairground.kernels.gradients import with_gradient
from fairground.kernels.sphere_hinges import PairShares, PairTotals, over_pairs
from fairground.spec.space import Real


class MarginLoss(Loss):
    """`beta` is where the border starts out and `margin` half the width of the strip around it.

    `beta_kind = per_class` keeps one beta for each of `n_classes`, indexed by the anchor's class.
    """

    accepts = (Triplets,)
    tunable: ClassVar[dict[str, Real]] = {"margin": Real(low=-0.2, high=2.0), "beta": Real(low=-0.2, high=2.0)}

    def __init__(
        self,
        *,
        margin: float = 0.2,
        beta: float = 1.2,
        beta_kind: Literal["scalar", "per_class"] = "scalar",
        n_classes: int | None = None,
        learn_beta: bool = True,
        beta_weight: float = 0.0,
        count: Literal["pairs", "tuples"] = "pairs",
    ) -> None:
        super().__init__()
        require(-2 <= margin <= 2, f"margin.margin must be in [-2, 2], the widest gap on a unit sphere; got {margin}")
        require(-2 <= beta <= 2, f"margin.beta must be in [-2, 2], the widest distance on a unit sphere; got {beta}")
        require(
            beta_kind in ("scalar", "per_class"), f"margin.beta_kind must be 'scalar' or 'per_class'; got '{beta_kind}'"
        )
        require(beta_weight >= 0, f"margin.beta_weight must not be negative; got {beta_weight}")
        require(count in ("pairs", "tuples"), f"margin.count must be 'pairs' or 'tuples'; got '{count}'")
        size = n_classes if beta_kind == "per_class" else 1
        require(
            size is not None and size >= 1,
            f"margin.n_classes must be at least 1 for margin.beta_kind = 'per_class'; got {n_classes}",
        )
        self.margin = margin
        self.beta_weight = beta_weight
        self.count = count
        self.is_per_class = beta_kind == "per_class"
        self.first_beta = beta
        # What is learned is the way from the first beta: a float32 parameter could not hold 1.2 itself.
        self.shift = nn.Parameter(torch.zeros(size or 1), requires_grad=learn_beta)

    @property
    def beta(self) -> Tensor:
        """The borders (1,) or (n_classes,) as they stand."""
        return self.first_beta + self.shift

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the sum over triplets over K, plus the price of beta; 0 without a triplet."""
        beta = self.first_beta + self.shift.to(embeddings.dtype)
        own = class_indices(labels, len(beta), "margin").squeeze(1) if self.is_per_class else None
        if isinstance(tuples, Triplets):
            return self._over(normalize(embeddings), tuples, beta if own is None else beta[own[tuples.anchor]])
        return self._over_all(embeddings, labels, beta.expand(len(labels)) if own is None else beta[own])

    def known_bugs(self) -> tuple[str, ...]:
        """Say when the divisor is that of the code of Roth et al."""
        if self.count == "pairs":
            return ()
        return (
            "margin.count = 'tuples': a triplet with two active terms is counted once, as in Roth et al. 2020 (E16)",
        )

    def _over(self, z: Tensor, triplets: Triplets, beta: Tensor) -> Tensor:
        positive = (distances_of_pairs(z, triplets.anchor, triplets.positive) - beta + self.margin).relu()
        negative = (beta - distances_of_pairs(z, triplets.anchor, triplets.negative) + self.margin).relu()
        if self.count == "pairs":
            n_active = (positive > 0).sum() + (negative > 0).sum()
        else:
            n_active = (positive + negative > 0).sum()
        loss = (positive + negative).sum() / n_active.clamp_min(1)
        if self.beta_weight == 0 or triplets.size == 0:
            return loss
        return loss + self.beta_weight * beta.mean()

    def _over_all(self, embeddings: Tensor, labels: Tensor, beta: Tensor) -> Tensor:
        border = beta.detach()
        slopes: list[Tensor] = []

        def work(z: Tensor) -> tuple[Tensor, Tensor]:
            found = over_pairs(z, labels, border - self.margin, border + self.margin, self._mean, by_triplets=True)
            slopes.append(found.border)
            return found.loss, found.gradient

        loss = with_gradient(embeddings, work, normalise=True)
        if beta.requires_grad:
            # Worth 0 as a number, and the slope of beta to autograd.
            loss = loss + slopes[0] @ (beta - border)
        if self.beta_weight == 0:
            return loss
        counts = list_positives(labels).counts
        n_triplets = counts * (len(labels) - 1 - counts)
        return loss + self.beta_weight * (beta * n_triplets).sum() / n_triplets.sum().clamp_min(1)

    def _mean(self, totals: PairTotals) -> PairShares:
        n = max(1, totals.n_near + totals.n_far if self.count == "pairs" else totals.n_either)
        return PairShares((totals.near + totals.far) / n, 1 / n, 1 / n)
