"""Contrastive loss: positives must be nearer than one distance, negatives farther apart than another.

Formula
    L = mean over positive pairs of  [d_ij - positive_margin]_+
      + mean over negative pairs of  [negative_margin - d_ij]_+

Paper
    Hadsell, Chopra and LeCun, "Dimensionality Reduction by Learning an Invariant Mapping", CVPR 2006, section 2.1.

Departures from the paper
    The terms are not squared, as in Roth et al. 2020 and in Musgrave et al. 2020; d is the distance of unit vectors.
    Each mean runs over the pairs above 0 (`mean_nz`, Musgrave et al.) or over all pairs of its kind (`mean_all`, Roth
    et al.). All ordered pairs of the batch take part unless a miner chooses.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples, as_pairs
from fairground.errors import require
from fairground.kernels.gradients import with_gradient
from fairground.kernels.listed_hinges import over_listed_pairs
from fairground.kernels.sphere_hinges import PairShares, PairTotals, over_pairs
from fairground.spec.space import Real


class ContrastiveLoss(Loss):
    """Positives cost what they exceed `positive_margin` by, negatives what they lack to `negative_margin`."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, Real]] = {
        "positive_margin": Real(low=-0.2, high=2.0),
        "negative_margin": Real(low=-0.2, high=2.0),
    }

    def __init__(
        self,
        *,
        positive_margin: float = 0.0,
        negative_margin: float = 1.0,
        reduction: Literal["mean_nz", "mean_all"] = "mean_nz",
    ) -> None:
        super().__init__()
        for name, margin in (("positive_margin", positive_margin), ("negative_margin", negative_margin)):
            require(
                -2 <= margin <= 2,
                f"contrastive.{name} must be in [-2, 2], the widest distance on a unit sphere; got {margin}",
            )
        require(
            reduction in ("mean_nz", "mean_all"),
            f"contrastive.reduction must be 'mean_nz' or 'mean_all'; got '{reduction}'",
        )
        self.positive_margin = positive_margin
        self.negative_margin = negative_margin
        self.reduction = reduction

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean cost of positive pairs plus that of negative pairs; a kind without pairs costs 0."""
        if tuples is None:
            return with_gradient(embeddings, lambda z: self._over_all(z, labels), normalise=True)
        pairs = as_pairs(tuples)
        return over_listed_pairs(embeddings, pairs, self.positive_margin, self.negative_margin, self._means)

    def _over_all(self, z: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        found = over_pairs(z, labels, self.positive_margin, self.negative_margin, self._means, by_triplets=False)
        return found.loss, found.gradient

    def _means(self, totals: PairTotals) -> PairShares:
        over_active = self.reduction == "mean_nz"
        n_near = max(1, totals.n_near if over_active else totals.n_positive)
        n_far = max(1, totals.n_far if over_active else totals.n_negative)
        return PairShares(totals.near / n_near + totals.far / n_far, 1 / n_near, 1 / n_far)
