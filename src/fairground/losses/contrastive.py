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

from typing import Literal

from torch import Generator, Tensor, stack

from fairground.contracts.loss import Loss, Pairs, Real, Triplets, Tuples
from fairground.functional import distances, normalize, pair_weights, rows_of, sum_over_rows
from fairground.functional.means_and_log_sums import mean_of_parts, weighted_parts
from fairground.kernels import pair_hinge_losses


class ContrastiveLoss(Loss):
    """Positives cost what they exceed `positive_margin` by, negatives what they lack to `negative_margin`."""

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"positive_margin": Real(low=-0.2, high=2.0), "negative_margin": Real(low=-0.2, high=2.0)}
    bounds = {"positive_margin": "[-2, 2]", "negative_margin": "[-2, 2]"}
    kernel = pair_hinge_losses.contrastive

    def __init__(
        self,
        *,
        positive_margin: float = 0.0,
        negative_margin: float = 1.0,
        reduction: Literal["mean_nz", "mean_all"] = "mean_nz",
    ) -> None:
        super().__init__()
        self.positive_margin, self.negative_margin, self.reduction = positive_margin, negative_margin, reduction

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the mean cost of positive pairs plus that of negative pairs; a kind without pairs costs 0."""
        z = normalize(embeddings)

        def parts(rows: slice) -> Tensor:
            d = distances(rows_of(z, rows), z)
            pairs = pair_weights(embeddings, labels, tuples, repeats=True, rows=rows)
            near = weighted_parts((d - self.positive_margin).relu(), pairs.positive, self.reduction)
            far = weighted_parts((self.negative_margin - d).relu(), pairs.negative, self.reduction)
            return stack([near, far])

        of_positives, of_negatives = sum_over_rows(parts, len(z), len(z))
        return mean_of_parts(of_positives) + mean_of_parts(of_negatives)
