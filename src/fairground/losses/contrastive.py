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
from fairground.geometry.distances import distances, distances_of_pairs, unit
from fairground.geometry.hinges import pair_hinges
from fairground.geometry.positives import list_positives
from fairground.geometry.reductions import mean_hinges
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
        z = unit(embeddings)
        if tuples is None:
            return self._over_all_pairs(distances(z, z), labels)
        pairs = as_pairs(tuples)
        near = distances_of_pairs(z, pairs.positive_anchor, pairs.positive) - self.positive_margin
        far = self.negative_margin - distances_of_pairs(z, pairs.negative_anchor, pairs.negative)
        return mean_hinges(near, self.reduction) + mean_hinges(far, self.reduction)

    def _over_all_pairs(self, d: Tensor, labels: Tensor) -> Tensor:
        positives = list_positives(labels)
        hinges = pair_hinges(d, positives, self.positive_margin, self.negative_margin)
        n_positive, n_negative = hinges.n_positive.sum(), hinges.n_negative.sum()
        if self.reduction == "mean_all":
            n_positive = positives.counts.sum()
            n_negative = d.numel() - len(d) - n_positive
        return hinges.positive.sum() / n_positive.clamp_min(1) + hinges.negative.sum() / n_negative.clamp_min(1)
