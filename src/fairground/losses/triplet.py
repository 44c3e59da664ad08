"""Triplet loss: the positive must be nearer than the negative, by a margin.

Formula
    L = mean over triplets of  [d(a, p)^power - d(a, n)^power + margin]_+
    with `smooth`, log(1 + e^x) instead of [x]_+; with `swap`, the smaller of d(a, n) and d(p, n) instead of d(a, n)

Paper
    Schroff, Kalenichenko and Philbin, "FaceNet: A Unified Embedding for Face Recognition and Clustering", CVPR 2015,
    section 3.1; the swap is from Balntas, Riba, Ponsa and Mikolajczyk, "Learning local feature descriptors with
    triplets", BMVC 2016, section 2.2.

Departures from the paper
    Plain distances by default (Musgrave et al. 2020, and eq. 2 of Roth et al. 2020, whose code has `power = 2` as
    FaceNet does). The mean runs over triplets above 0 (`mean_nz`), so that the step size does not shrink as training
    succeeds, or over all of them (`mean_all`). All triplets of the batch take part unless a miner chooses.
"""

from typing import Literal

from torch import Generator, Tensor, minimum, stack, where

from fairground.contracts.loss import Loss, Real, Triplets, Tuples, require
from fairground.functional import means_and_log_sums, memory_blocks, pair_distances, pairs, triplet_hinges
from fairground.kernels import tuple_hinge_losses


class TripletLoss(Loss):
    """`margin` is how much nearer the positive must be, on the unit sphere; `power` 2 compares squared distances."""

    accepts = (Triplets,)
    takes_label_sets = True
    tunable = {"margin": Real(low=-0.2, high=2.0)}
    kernel = tuple_hinge_losses.triplet

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
        widest = 2**power
        refusal = f"triplet.margin must be in [{-widest}, {widest}], the widest gap on a unit sphere; got {margin}"
        require(-widest <= margin <= widest, refusal)
        self.margin, self.power, self.reduction, self.swap, self.smooth = margin, power, reduction, swap, smooth

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = pair_distances.normalize(embeddings)
        if isinstance(tuples, Triplets):
            return self._over(z, tuples)
        if self.swap or self.smooth:
            return means_and_log_sums.mean_of_parts(self._parts(z, labels, slice(0, len(z))))
        # Sorting holds a block's distances several times, and whole numbers of twice their size.
        parts = memory_blocks.sum_over_rows(lambda rows: self._parts(z, labels, rows), len(z), len(z), share=4)
        return means_and_log_sums.mean_of_parts(parts)

    def _parts(self, z: Tensor, labels: Tensor, rows: slice) -> Tensor:
        """Return the sum over the triplets of some anchors, and how many it is divided by."""
        anchors = memory_blocks.rows_of(z, rows)
        matrix = (pair_distances.distances if self.power == 1 else pair_distances.squared_distances)(anchors, z)
        masks = pairs.pair_masks(labels, rows)
        if self.swap or self.smooth:
            total, n_active = self._by_blocks(matrix, masks).unbind()
        else:
            total, n_active = triplet_hinges(matrix, masks.positive, masks.negative, self.margin)
        n_triplets = (masks.positive.sum(1) * masks.negative.sum(1)).sum()
        return stack([total, (n_active if self.reduction == "mean_nz" else n_triplets).to(total.dtype)])

    def _over(self, z: Tensor, triplets: Triplets) -> Tensor:
        anchor, positive, negative = triplets
        near = pair_distances.distances_of_pairs(z, anchor, positive)
        far = pair_distances.distances_of_pairs(z, anchor, negative)
        if self.swap:
            far = minimum(far, pair_distances.distances_of_pairs(z, positive, negative))
        excess = near**self.power - far**self.power + self.margin
        if self.smooth:
            # No softplus is 0, so both reductions are the mean.
            return means_and_log_sums.softplus(excess).sum() / max(1, excess.numel())
        return means_and_log_sums.mean_hinges(excess, self.reduction)

    def _by_blocks(self, matrix: Tensor, masks: pairs.PairWeights) -> Tensor:
        """Return the sum over all triplets with `swap` or `smooth`, and how many are above 0; not by sorting."""

        def of_anchors(rows: slice) -> Tensor:
            # Of shape (anchors, positives, negatives).
            far = matrix[rows].unsqueeze(1)
            if self.swap:
                far = minimum(far, matrix)
            excess = matrix[rows].unsqueeze(2) - far + self.margin
            is_triplet = masks.positive[rows].unsqueeze(2) & masks.negative[rows].unsqueeze(1)
            hinges = where(is_triplet, means_and_log_sums.softplus(excess) if self.smooth else excess.relu(), 0)
            return stack([hinges.sum(), (hinges > 0).sum().to(hinges.dtype)])

        return memory_blocks.sum_over_blocks(of_anchors, len(matrix), len(matrix) ** 2)
