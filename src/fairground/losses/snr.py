"""SNR loss: positives must differ from their anchor by little noise, negatives by much, measured against its signal.

Formula
    snr(i, j) = Var_m(z_im - z_jm) / Var_m(z_im)       the anchor i in the denominator: not symmetric
    contrastive:  L = mean over positive pairs of [snr - positive_margin]_+
                    + mean over negative pairs of [negative_margin - snr]_+
    triplet:      L = mean over triplets of [snr(a, p) - snr(a, n) + margin]_+
    plus  zero_mean_weight * mean over samples (contrastive) or anchors (triplet) of |sum_m z_im|

Paper
    Yuan, Deng, Tang, Tang and Chen, "Signal-to-Noise Ratio: A Robust Distance Metric for Deep Metric Learning",
    CVPR 2019, section 3.

Departures from the paper
    z are unit vectors. The contrastive form is that of Musgrave et al. 2020, the triplet form that of Roth et al. 2020,
    whose eq. 15 lacks the squares and whose code has 0/0 when no triplet is above 0: here that is 0. A constant vector,
    of variance 0, counts as of variance 1e-12 / D, with slope 0.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples, as_pairs
from fairground.errors import require
from fairground.functional.distances import distances_of_pairs, normalize, squared_distances
from fairground.functional.pairs import Positives, list_positives
from fairground.functional.reductions import mean_hinges
from fairground.kernels.gradients import with_gradient
from fairground.kernels.hinges import pair_hinges, triplet_hinges
from fairground.spec.space import Real

#: the least sum of squares of a centred anchor
LEAST_SIGNAL = 1e-12


class SnrLoss(Loss):
    """`positive_margin` and `negative_margin` belong to the contrastive form, `margin` to the triplet form."""

    accepts: tuple[type, ...] = (Pairs, Triplets)
    tunable: ClassVar[dict[str, Real]] = {
        "positive_margin": Real(low=0.0, high=2.0),
        "negative_margin": Real(low=0.0, high=2.0),
        "zero_mean_weight": Real(low=0.0, high=1.0),
    }

    def __init__(
        self,
        *,
        form: Literal["contrastive", "triplet"] = "contrastive",
        positive_margin: float = 0.0,
        negative_margin: float = 1.0,
        margin: float = 0.2,
        zero_mean_weight: float = 0.0,
        reduction: Literal["mean_nz", "mean_all"] = "mean_nz",
    ) -> None:
        super().__init__()
        require(form in ("contrastive", "triplet"), f"snr.form must be 'contrastive' or 'triplet'; got '{form}'")
        for name, value in (
            ("positive_margin", positive_margin),
            ("negative_margin", negative_margin),
            ("zero_mean_weight", zero_mean_weight),
        ):
            require(value >= 0, f"snr.{name} must not be negative, as no variance is; got {value}")
        require(
            reduction in ("mean_nz", "mean_all"), f"snr.reduction must be 'mean_nz' or 'mean_all'; got '{reduction}'"
        )
        self.form = form
        self.positive_margin = positive_margin
        self.negative_margin = negative_margin
        self.margin = margin
        self.zero_mean_weight = zero_mean_weight
        self.reduction = reduction
        if form == "triplet":
            self.accepts = (Triplets,)

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the loss of the chosen form; a kind of pairs that is missing costs 0."""
        require(embeddings.shape[1] >= 2, "SnrLoss takes embeddings of at least 2 dimensions: one has no variance")
        z = normalize(embeddings)
        centred = z - z.mean(1, keepdim=True)
        # The number of dimensions cancels: sums of squares stand for variances.
        signal = centred.square().sum(1).clamp_min(LEAST_SIGNAL)
        if self.form == "contrastive":
            loss = self._contrastive(centred, signal, labels, tuples)
            anchors: Tensor | None = None
        else:
            loss, anchors = self._triplet(centred, signal, labels, tuples)
        if self.zero_mean_weight == 0 or len(labels) < 2:
            return loss
        sums = z.sum(1).abs()
        if anchors is None:
            return loss + self.zero_mean_weight * sums.mean()
        return loss + self.zero_mean_weight * sums[anchors].sum() / max(1, len(anchors))

    def _contrastive(self, centred: Tensor, signal: Tensor, labels: Tensor, tuples: Tuples | None) -> Tensor:
        if tuples is not None:
            pairs = as_pairs(tuples)
            near = _ratios(centred, signal, pairs.positive_anchor, pairs.positive) - self.positive_margin
            far = self.negative_margin - _ratios(centred, signal, pairs.negative_anchor, pairs.negative)
            return mean_hinges(near, self.reduction) + mean_hinges(far, self.reduction)
        positives = list_positives(labels)
        ratios = _all_ratios(centred, signal)
        return with_gradient(ratios, lambda matrix: self._pair_slopes(matrix, positives), normalise=False)

    def _pair_slopes(self, ratios: Tensor, positives: Positives) -> tuple[Tensor, Tensor]:
        near, far = hinges = pair_hinges(ratios, positives, self.positive_margin, self.negative_margin)
        if self.reduction == "mean_nz":
            n_near, n_far = near.count_nonzero(), far.count_nonzero()
        else:
            n_near = positives.counts.sum()
            n_far = ratios.numel() - len(ratios) - n_near
        n_near, n_far = (n.clamp_min(1).to(ratios.dtype) for n in (n_near, n_far))
        return near.sum() / n_near + far.sum() / n_far, hinges.slopes(positives, 1 / n_near, 1 / n_far)

    def _triplet(self, centred: Tensor, signal: Tensor, labels: Tensor, tuples: Tuples | None) -> tuple[Tensor, Tensor]:
        """Return the loss and the anchors it is about."""
        if isinstance(tuples, Triplets):
            near = _ratios(centred, signal, tuples.anchor, tuples.positive)
            far = _ratios(centred, signal, tuples.anchor, tuples.negative)
            return mean_hinges(near - far + self.margin, self.reduction), tuples.anchor
        positives = list_positives(labels)
        ratios = _all_ratios(centred, signal)
        n_triplets = positives.counts * (len(labels) - 1 - positives.counts)
        n = None if self.reduction == "mean_nz" else n_triplets.sum()
        loss = with_gradient(
            ratios, lambda matrix: triplet_hinges(matrix, positives, self.margin).mean(n), normalise=False
        )
        return loss, n_triplets.nonzero().squeeze(1)


def _all_ratios(centred: Tensor, signal: Tensor) -> Tensor:
    return _without_steep_slopes(squared_distances(centred, centred) / signal.unsqueeze(1), signal.unsqueeze(1))


def _ratios(centred: Tensor, signal: Tensor, anchor: Tensor, other: Tensor) -> Tensor:
    own = signal[anchor]
    return _without_steep_slopes(distances_of_pairs(centred, anchor, other).square() / own, own)


def _without_steep_slopes(ratios: Tensor, signal: Tensor) -> Tensor:
    """Return the ratios with slope 0 for constant anchors, where it would be a million million."""
    is_constant = signal <= LEAST_SIGNAL
    return torch.where(is_constant, ratios.detach(), ratios) if bool(is_constant.any()) else ratios
