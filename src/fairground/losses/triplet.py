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

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Triplets, Tuples
from fairground.errors import require
from fairground.geometry.distances import distances, distances_of_pairs, squared_distances, unit
from fairground.geometry.hinges import negatives_only, triplet_hinges
from fairground.geometry.positives import list_positives
from fairground.geometry.reductions import mean_hinges
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
        z = unit(embeddings)
        return self._over(z, tuples) if isinstance(tuples, Triplets) else self._over_all(z, labels)

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

    def _over_all(self, z: Tensor, labels: Tensor) -> Tensor:
        matrix = distances(z, z) if self.power == 1 else squared_distances(z, z)
        positives = list_positives(labels)
        if self.swap or self.smooth:
            total, n_active = _looped(matrix, positives.rows, positives.exists, self.margin, self.swap, self.smooth)
        else:
            total, n_active = triplet_hinges(matrix, positives, self.margin)
        if self.smooth or self.reduction == "mean_all":
            n_active = (positives.counts * (len(labels) - 1 - positives.counts)).sum()
        return total / n_active.clamp_min(1)


class _Looped(torch.autograd.Function):
    """All triplets with `swap` or `smooth`, which no sorting shortens: one (n, n) step for each column of positives."""

    @staticmethod
    def forward(
        ctx: Any, matrix: Tensor, rows: Tensor, exists: Tensor, margin: float, swap: bool, smooth: bool
    ) -> tuple[Tensor, Tensor]:
        negatives = negatives_only(matrix, rows)
        thresholds = torch.where(exists, matrix.gather(1, rows) + margin, -torch.inf)
        pulls = torch.empty_like(thresholds)
        slopes = torch.zeros_like(matrix)
        total, n_active = matrix.new_zeros(2).unbind()
        for j, partner in enumerate(rows.unbind(1)):
            far = torch.minimum(negatives, negatives[partner]) if swap else negatives
            excess = thresholds[:, j : j + 1] - far
            # On the sphere the excess is at most 8: its exponential is safe.
            weights = excess.exp_() if smooth else excess.relu_()
            total += weights.log1p().sum() if smooth else weights.sum()
            weights = weights.div_(weights + 1) if smooth else weights.sign_()
            pulls[:, j] = weights.sum(1)
            n_active += pulls[:, j].sum()
            if swap:
                # A tie is shared by both distances.
                own = (negatives <= far).to(far.dtype).add_(negatives[partner] > far).div_(2)
                slopes.index_add_(0, partner, weights * (1 - own), alpha=-1)
                weights = weights * own
            slopes -= weights
        ctx.save_for_backward(slopes.scatter_add_(1, rows, pulls))
        ctx.mark_non_differentiable(n_active)
        return total, n_active

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None, None]:
        (slopes,) = ctx.saved_tensors
        return slopes * gradients[0], None, None, None, None, None


# `apply` has no types of its own.
_looped: Callable[..., tuple[Tensor, Tensor]] = _Looped.apply
