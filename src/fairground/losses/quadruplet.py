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

from typing import Literal

from torch import Generator, Tensor, cat, maximum, minimum, searchsorted, where, zeros

from fairground.contracts.loss import Loss, Real, Triplets, Tuples, require
from fairground.functional import draw_below, mean_hinges, pair_masks, quadruplet_hinges, triplet_hinges, weighted_mean
from fairground.functional.pair_distances import distances, distances_of_pairs, normalize
from fairground.kernels import tuple_hinge_losses


class QuadrupletLoss(Loss):
    """`margin` is against negatives of the anchor, `second_margin` against pairs that do not touch its class."""

    accepts = (Triplets,)
    tunable = {"margin": Real(low=-0.2, high=2.0), "second_margin": Real(low=-0.2, high=2.0)}
    bounds = {"margin": "[-2, 2]", "second_margin": "[-2, 2]"}
    is_random = True
    kernel = tuple_hinge_losses.quadruplet

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
        self.margin, self.second_margin, self.reduction = margin, second_margin, reduction
        self.fourth, self.pairing = fourth, pairing

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return both means; the second is 0 with fewer than three classes."""
        z = normalize(embeddings)
        if isinstance(tuples, Triplets):
            return self._over(z, labels, tuples, generator)
        self.refuse_roth_code()
        d = distances(z, z)
        positive, negative = pair_masks(labels)
        n_positives, n_negatives = positive.sum(1), negative.sum(1)
        first, n_first = triplet_hinges(d, positive, negative, self.margin)
        second, n_second = quadruplet_hinges(d, labels, positive, negative, self.second_margin)
        if self.reduction == "mean_all":
            # All pairs of two classes, less those with a row of the anchor's class.
            n_apart = n_negatives.sum() // 2 - (n_positives + 1) * n_negatives
            n_first, n_second = (n_positives * n_negatives).sum(), (n_positives * n_apart).sum()
        return first / n_first.clamp_min(1) + second / n_second.clamp_min(1)

    def _over(self, z: Tensor, labels: Tensor, triplets: Triplets, generator: Generator | None) -> Tensor:
        anchor, positive, negative = triplets
        fourth, exists = self._draw_fourth(labels, triplets, generator)
        # One list of three kinds of pairs: each list of its own may take a matrix of distances.
        left, right = cat([anchor, anchor, negative]), cat([positive, negative, fourth])
        near, far, apart = distances_of_pairs(z, left, right).view(3, -1)
        first = mean_hinges(near - far + self.margin, self.reduction)
        counted = exists.to(z.dtype)
        threshold = near + self.second_margin
        if self.pairing == "matched":
            hinges = (threshold - apart).relu()
            return first + weighted_mean(hinges, counted, self.reduction)
        hinges = (threshold.unsqueeze(1) - distances(z, z)[negative]).relu()
        # How often each row was drawn says all there is to know about the draws.
        n_drawn = zeros(len(z), dtype=z.dtype, device=z.device).index_add(0, fourth, counted)
        weights = n_drawn.expand(triplets.size, -1)
        if self.fourth == "strict":
            is_known = (labels == labels[anchor].unsqueeze(1)) | (labels == labels[negative].unsqueeze(1))
            weights = weights.masked_fill(is_known, 0)
        return first + weighted_mean(hinges, weights, self.reduction)

    def _draw_fourth(self, labels: Tensor, triplets: Triplets, generator: Generator | None) -> tuple[Tensor, Tensor]:
        """Return the row l (t,) drawn for each triplet, and whether there was any to draw."""
        anchor, _, negative = triplets
        if self.fourth == "strict":
            return _draw_stranger(labels, labels[anchor], labels[negative], generator)
        number, exists = _draw_stranger(negative, negative, negative, generator)
        return anchor[number], exists

    def refuse_roth_code(self) -> None:
        refusal = "quadruplet.fourth = 'roth_code' draws from mined triplets: give a miner, or set it to 'strict'"
        require(self.fourth == "strict", refusal)

    def known_bugs(self) -> tuple[str, ...]:
        bug = "quadruplet.fourth = 'roth_code': the fourth member may be of the anchor's or the negative's class (E23)"
        return (bug,) if self.fourth == "roth_code" else ()


def _draw_stranger(labels: Tensor, one: Tensor, other: Tensor, generator: Generator | None) -> tuple[Tensor, Tensor]:
    """Return, for each pair of labels (t,), a random row that has neither, and whether there is any such row."""
    ordered, order = labels.sort(stable=True)
    low, high = minimum(one, other), maximum(one, other)
    # Where the rows of each label start in the order, and how many they are.
    low_start, high_start = searchsorted(ordered, low), searchsorted(ordered, high)
    low_size = searchsorted(ordered, low, right=True) - low_start
    high_size = where(low == high, 0, searchsorted(ordered, high, right=True) - high_start)
    n_strangers = len(labels) - low_size - high_size
    # The rows of a class stand together in the order: a number among strangers steps over each block before it.
    place = draw_below(n_strangers, generator)
    place = where(place >= low_start, place + low_size, place)
    place = where(place >= high_start, place + high_size, place)
    return order[place.clamp_max(len(labels) - 1)], n_strangers > 0
