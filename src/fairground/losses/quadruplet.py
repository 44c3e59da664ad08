"""Quadruplet loss: a positive pair must be closer than its anchor and a negative, and than two strangers to it.

Formula
    L = mean over triplets of     [d_ap - d_an + margin]_+
      + mean over quadruplets of  [d_ap - d_nl + second_margin]_+
    with p of a's class, n of another, l of neither

Paper
    Chen, Chen, Zhang and Huang, "Beyond triplet loss: a deep quadruplet network for person re-identification",
    CVPR 2017, section 3.2.

Departures from the paper
    d is the distance of unit vectors, not a learned similarity, and is not squared (Roth et al. 2020). Without a miner
    all quadruplets count. With one, each triplet gets one random l (`pairing = matched`), or each triplet meets the l
    of every triplet, where the classes allow (`all`). `fourth = roth_code` with `pairing = all` is the code of Roth et
    al.: l is the anchor of any triplet with another negative, whatever its class. Eq. 14 of theirs starts the second
    term with the wrong distance. Each mean runs over all its tuples, as in their code (`mean_all`), or over those above
    0 (`mean_nz`).
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Triplets, Tuples
from fairground.errors import require
from fairground.functional.distances import distances, distances_of_pairs, normalize
from fairground.functional.pairs import class_groups, list_positives
from fairground.functional.random_choice import draw_below
from fairground.functional.reductions import mean_hinges
from fairground.kernels.far_pairs import far_pair_hinges
from fairground.kernels.gradients import with_gradient
from fairground.kernels.hinges import triplet_hinges
from fairground.spec.space import Real


class QuadrupletLoss(Loss):
    """`margin` is against negatives of the anchor, `second_margin` against pairs that do not touch its class."""

    accepts = (Triplets,)
    tunable: ClassVar[dict[str, Real]] = {
        "margin": Real(low=-0.2, high=2.0),
        "second_margin": Real(low=-0.2, high=2.0),
    }

    def __init__(
        self,
        *,
        margin: float = 1.0,
        second_margin: float = 0.5,
        fourth: Literal["strict", "roth_code"] = "strict",
        pairing: Literal["matched", "all"] = "matched",
        reduction: Literal["mean_nz", "mean_all"] = "mean_all",
    ) -> None:
        super().__init__()
        for name, value in (("margin", margin), ("second_margin", second_margin)):
            require(
                -2 <= value <= 2, f"quadruplet.{name} must be in [-2, 2], the widest gap on a unit sphere; got {value}"
            )
        require(fourth in ("strict", "roth_code"), f"quadruplet.fourth must be 'strict' or 'roth_code'; got '{fourth}'")
        require(pairing in ("matched", "all"), f"quadruplet.pairing must be 'matched' or 'all'; got '{pairing}'")
        require(
            reduction in ("mean_nz", "mean_all"),
            f"quadruplet.reduction must be 'mean_nz' or 'mean_all'; got '{reduction}'",
        )
        self.margin = margin
        self.second_margin = second_margin
        self.fourth = fourth
        self.pairing = pairing
        self.reduction = reduction

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return both means; the second is 0 with fewer than three classes."""
        z = normalize(embeddings)
        if isinstance(tuples, Triplets):
            return self._over(z, labels, tuples, generator)
        require(
            self.fourth == "strict",
            "quadruplet.fourth = 'roth_code' draws from mined triplets: give a miner, or set it to 'strict'",
        )
        return with_gradient(distances(z, z), lambda d: self._loss_and_slopes(d, labels), normalise=False)

    def _loss_and_slopes(self, d: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        positives = list_positives(labels)
        n_triplets, n_quadruplets = (None, None) if self.reduction == "mean_nz" else _counts(labels)
        first, slopes = triplet_hinges(d, positives, self.margin).mean(n_triplets)
        second, more = far_pair_hinges(d, labels, positives, self.second_margin).mean(n_quadruplets)
        return first + second, slopes.add_(more)

    def _over(self, z: Tensor, labels: Tensor, triplets: Triplets, generator: torch.Generator | None) -> Tensor:
        anchor, positive, negative = triplets
        near = distances_of_pairs(z, anchor, positive)
        far = distances_of_pairs(z, anchor, negative)
        if self.fourth == "strict":
            fourth, exists = _draw_stranger(labels, labels[anchor], labels[negative], generator)
        else:
            number, exists = _draw_stranger(negative, negative, negative, generator)
            fourth = anchor[number]
        first = mean_hinges(near - far + self.margin, self.reduction)
        thresholds = near + self.second_margin
        if self.pairing == "matched":
            apart = distances_of_pairs(z, negative[exists], fourth[exists])
            return first + mean_hinges(thresholds[exists] - apart, self.reduction)
        # How often each row was drawn says all there is to know about the draws.
        weights = torch.bincount(fourth[exists], minlength=len(z)).to(z.dtype).expand(triplets.size, -1)
        if self.fourth == "strict":
            is_known = (labels == labels[anchor].unsqueeze(1)) | (labels == labels[negative].unsqueeze(1))
            weights = weights.masked_fill(is_known, 0)
        hinges = (thresholds.unsqueeze(1) - distances(z, z)[negative]).relu()
        n = weights.sum() if self.reduction == "mean_all" else weights[hinges > 0].sum()
        return first + (weights * hinges).sum() / n.clamp_min(1)

    def known_bugs(self) -> tuple[str, ...]:
        """Say when the fourth member is drawn as in the code of Roth et al."""
        if self.fourth == "strict":
            return ()
        return (
            "quadruplet.fourth = 'roth_code': the fourth member may be of the anchor's or the negative's class (E23)",
        )


def _counts(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of triplets and of quadruplets of a batch, n and l of these in one order only."""
    _, size = class_groups(labels)
    outside = len(labels) - size
    n_pairs = size * (size - 1)
    n_strangers = (outside.square() - (size.square().sum() - size.square())) // 2
    return (n_pairs * outside).sum(), (n_pairs * n_strangers).sum()


def _draw_stranger(
    labels: Tensor, one: Tensor, other: Tensor, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Return, for each pair of labels (t,), a random row that has neither, and whether there is any such row."""
    ordered, order = labels.sort(stable=True)
    low, high = torch.minimum(one, other), torch.maximum(one, other)
    blocks = [
        (torch.searchsorted(ordered, label), torch.searchsorted(ordered, label, right=True)) for label in (low, high)
    ]
    (low_start, low_end), (high_start, high_end) = blocks
    high_size = torch.where(low == high, 0, high_end - high_start)
    n_strangers = len(labels) - (low_end - low_start) - high_size
    place = draw_below(n_strangers, generator)
    # The two classes stand together in the order: step over each that comes before.
    place = place + (place >= low_start) * (low_end - low_start)
    place = place + (place >= high_start) * high_size
    return order[place.clamp_max(len(labels) - 1)], n_strangers > 0
