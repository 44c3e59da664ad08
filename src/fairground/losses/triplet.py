"""Triplet loss: the positive must be nearer than the negative, by a margin.

Formula
    L = mean over triplets of  [d(a, p)^power - d(a, n)^power + margin]_+
    with `smooth`, log(1 + e^x) instead of [x]_+; with `swap`, the smaller of d(a, n) and d(p, n) instead of d(a, n)

Paper
    Schroff, Kalenichenko and Philbin, "FaceNet", CVPR 2015, section 3.1; the swap is from Balntas, Riba, Ponsa and
    Mikolajczyk, "Learning local feature descriptors with triplets", BMVC 2016, section 2.2.

Departures from the paper
    Plain distances by default (Musgrave et al. 2020, and eq. 2 of Roth et al. 2020, whose code has `power = 2` as
    FaceNet does). The mean runs over triplets above 0 (`mean_nz`), so that the step size does not shrink as training
    succeeds, or over all of them (`mean_all`). All triplets of the batch take part unless a miner chooses.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Triplets, Tuples
from fairground.errors import require
from fairground.functional.distances import distances, distances_of_pairs, normalize, squared_distances
from fairground.functional.pairs import Positives, list_positives
from fairground.functional.reductions import mean_hinges
from fairground.kernels.gradients import with_gradient
from fairground.kernels.hinges import negatives_only
from fairground.kernels.sphere_hinges import mean_over_triplets
from fairground.spec.space import Real


class TripletLoss(Loss):
    """`margin` is how much nearer the positive must be, on the unit sphere; `power` 2 compares squared distances."""

    accepts = (Triplets,)
    tunable: ClassVar[dict[str, Real]] = {"margin": Real(low=-0.2, high=2.0)}

    def __init__(
        self,
        *,
        margin: float = 0.1,
        power: Literal[1, 2] = 1,
        reduction: Literal["mean_nz", "mean_all"] = "mean_nz",
        swap: bool = False,
        smooth: bool = False,
    ) -> None:
        super().__init__()
        require(power in (1, 2), f"triplet.power must be 1 or 2; got {power}")
        widest = 2**power
        require(
            -widest <= margin <= widest,
            f"triplet.margin must be in [{-widest}, {widest}], the widest gap on a unit sphere; got {margin}",
        )
        require(
            reduction in ("mean_nz", "mean_all"),
            f"triplet.reduction must be 'mean_nz' or 'mean_all'; got '{reduction}'",
        )
        self.margin = margin
        self.power = power
        self.reduction = reduction
        self.swap = swap
        self.smooth = smooth

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over triplets; 0 when there is none."""
        if isinstance(tuples, Triplets):
            return self._over(normalize(embeddings), tuples)
        if self.swap or self.smooth:
            return self._looped(normalize(embeddings), labels)
        squared, over_active = self.power == 2, self.reduction == "mean_nz"
        return with_gradient(
            embeddings,
            lambda z: mean_over_triplets(z, labels, margin=self.margin, squared=squared, over_active=over_active),
            normalise=True,
        )

    def _over(self, z: Tensor, triplets: Triplets) -> Tensor:
        anchor, positive, negative = triplets
        near = distances_of_pairs(z, anchor, positive)
        far = distances_of_pairs(z, anchor, negative)
        if self.swap:
            far = torch.minimum(far, distances_of_pairs(z, positive, negative))
        excess = near**self.power - far**self.power + self.margin
        if self.smooth:
            # No softplus is 0, so both reductions are the mean.
            return functional.softplus(excess).sum() / max(1, excess.numel())
        return mean_hinges(excess, self.reduction)

    def _looped(self, z: Tensor, labels: Tensor) -> Tensor:
        """Return the mean over all triplets with `swap` or `smooth`, which no counting shortens."""
        matrix = distances(z, z) if self.power == 1 else squared_distances(z, z)
        positives = list_positives(labels)
        return with_gradient(matrix, lambda m: self._mean_and_slopes(m, positives), normalise=False)

    def _mean_and_slopes(self, matrix: Tensor, positives: Positives) -> tuple[Tensor, Tensor]:
        """Return the mean over all triplets and its slopes (n, n), one step for each column of positives."""
        rows = positives.rows
        negatives = negatives_only(matrix, positives)
        thresholds = torch.where(positives.exists, matrix.gather(1, rows) + self.margin, -torch.inf)
        pulls = torch.empty_like(thresholds)
        slopes = torch.zeros_like(matrix)
        total = matrix.new_zeros(())
        for j, partner in enumerate(rows.unbind(1)):
            others = negatives[partner] if self.swap else negatives
            far = torch.minimum(negatives, others)
            hinges, weights = self._hinges(thresholds[:, j : j + 1] - far)
            total += hinges
            pulls[:, j] = weights.sum(1)
            if self.swap:
                # A tie is shared by both distances.
                own = (negatives <= far).to(far.dtype).add_(others > far).div_(2)
                slopes.index_add_(0, partner, weights * (1 - own), alpha=-1)
                weights = weights * own
            slopes -= weights
        if self.smooth or self.reduction == "mean_all":
            n = (positives.counts * (len(matrix) - 1 - positives.counts)).sum()
        else:
            n = pulls.sum()
        n = n.clamp_min(1)
        return total / n, slopes.scatter_add_(1, rows, pulls).div_(n)

    def _hinges(self, excess: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sum of [x]_+ or log(1 + e^x) and its slopes; `excess` is overwritten."""
        if not self.smooth:
            hinges = excess.relu_()
            return hinges.sum(), hinges.sign_()
        # On the sphere the excess is at most 8: its exponential is safe.
        odds = excess.exp_()
        return odds.log1p().sum(), odds.div_(odds + 1)
