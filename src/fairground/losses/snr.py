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
    of variance 0, counts as of variance 1e-12 / D, with gradient 0.
"""

from typing import Literal

from torch import Generator, Tensor, full_like, ones_like, where, zeros_like

from fairground.contracts.loss import Loss, Pairs, Real, Triplets, Tuples, as_pairs, require
from fairground.functional import mean_hinges, pair_masks, pair_weights, triplet_hinges, weighted_mean
from fairground.functional.pair_distances import distances_of_pairs, normalize, squared_distances
from fairground.kernels import LEAST_SIGNAL, pair_hinge_losses


class SnrLoss(Loss):
    """`positive_margin` and `negative_margin` belong to the contrastive form, `margin` to the triplet form."""

    accepts: tuple[type, ...] = (Pairs, Triplets)
    tunable = {
        "positive_margin": Real(low=0.0, high=2.0),
        "negative_margin": Real(low=0.0, high=2.0),
        "zero_mean_weight": Real(low=0.0, high=1.0),
    }
    bounds = {"positive_margin": "[0, inf)", "negative_margin": "[0, inf)", "zero_mean_weight": "[0, inf)"}
    kernel = pair_hinge_losses.snr

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
        self.form, self.positive_margin, self.negative_margin = form, positive_margin, negative_margin
        self.margin, self.zero_mean_weight, self.reduction = margin, zero_mean_weight, reduction
        if form == "triplet":
            self.accepts = (Triplets,)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the loss of the chosen form; a kind of pairs that is missing costs 0."""
        self.refuse_one_dimension(embeddings)
        z = normalize(embeddings)
        centred = z - z.mean(1, keepdim=True)
        # The number of dimensions cancels: sums of squares stand for variances. For all pairs they are taken from the
        # product that gives the distances too, so that the ratio to a constant vector is 1 to the last digit.
        squares = (centred @ centred.T).diagonal() if tuples is None else centred.square().sum(1)
        signal = squares.clamp_min(LEAST_SIGNAL)
        if self.form == "contrastive":
            loss = self._contrastive(centred, signal, labels, tuples)
            anchors = full_like(signal, len(labels) > 1)
        elif isinstance(tuples, Triplets):
            near = _ratios(centred, signal, tuples.anchor, tuples.positive)
            far = _ratios(centred, signal, tuples.anchor, tuples.negative)
            loss = mean_hinges(near - far + self.margin, self.reduction)
            anchors = zeros_like(signal).index_add(0, tuples.anchor, ones_like(near))
        else:
            positive, negative = pair_masks(labels)
            n_triplets = positive.sum(1) * negative.sum(1)
            total, n_active = triplet_hinges(_all_ratios(centred, signal), positive, negative, self.margin)
            loss = total / (n_active if self.reduction == "mean_nz" else n_triplets.sum()).clamp_min(1)
            anchors = (n_triplets > 0).to(z.dtype)
        return loss + self.zero_mean_weight * weighted_mean(z.sum(1).abs(), anchors)

    def _contrastive(self, centred: Tensor, signal: Tensor, labels: Tensor, tuples: Tuples | None) -> Tensor:
        if tuples is not None:
            pairs = as_pairs(tuples)
            near = _ratios(centred, signal, pairs.positive_anchor, pairs.positive) - self.positive_margin
            far = self.negative_margin - _ratios(centred, signal, pairs.negative_anchor, pairs.negative)
            return mean_hinges(near, self.reduction) + mean_hinges(far, self.reduction)
        ratios = _all_ratios(centred, signal)
        positive, negative = pair_weights(centred, labels, None)
        of_positives = weighted_mean((ratios - self.positive_margin).relu(), positive, self.reduction)
        of_negatives = weighted_mean((self.negative_margin - ratios).relu(), negative, self.reduction)
        return of_positives + of_negatives

    def refuse_one_dimension(self, embeddings: Tensor) -> None:
        require(embeddings.shape[1] >= 2, "SnrLoss takes embeddings of at least 2 dimensions: one has no variance")


def _all_ratios(centred: Tensor, signal: Tensor) -> Tensor:
    return _without_steep_gradients(squared_distances(centred, centred) / signal.unsqueeze(1), signal.unsqueeze(1))


def _ratios(centred: Tensor, signal: Tensor, anchor: Tensor, other: Tensor) -> Tensor:
    own = signal[anchor]
    return _without_steep_gradients(distances_of_pairs(centred, anchor, other).square() / own, own)


def _without_steep_gradients(ratios: Tensor, signal: Tensor) -> Tensor:
    """Return the ratios with gradient 0 for constant anchors, where it would be a million million."""
    return where(signal <= LEAST_SIGNAL, ratios.detach(), ratios)
