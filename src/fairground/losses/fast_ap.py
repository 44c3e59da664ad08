"""FastAP: average precision of each anchor's ranking, by histograms of distances that a gradient can pass through.

Formula
    nodes v_l = 4 l / bins, l = 0..bins, on squared distances D of unit vectors; weight max(0, 1 - |D - v_l| bins / 4)
    h+_l, h-_l = sums of the weights of an anchor's positives, negatives;  H+, H = cumulative sums of h+, h+ + h-
    FastAP_i = 1/|P(i)| sum_{l: H_l > 0} h+_l H+_l / H_l ;  L = mean over anchors with positives of  1 - FastAP_i

Paper
    Cakir, He, Xia, Kulis and Sclaroff, "Deep metric learning to rank", CVPR 2019, section 3.

Departures from the paper
    None in the formula. The number of bins was tuned by the Reality Check: 17, 27, 16, and 86 for batches of 256.
"""

from torch import Generator, Tensor, inf, where

from fairground.contracts.loss import Integer, Loss, Tuples
from fairground.functional import mean_where, normalize, pair_masks, running_sums, soft_bins
from fairground.kernels import ranking_losses


class FastApLoss(Loss):
    """`bins` is the number of intervals the squared distances, 0 to 4, are cut into."""

    takes_label_sets = True
    tunable = {"bins": Integer(low=2, high=250)}
    bounds = {"bins": "[2, inf)"}
    kernel = ranking_losses.fast_ap

    def __init__(self, *, bins: int = 10) -> None:
        super().__init__()
        self.bins = bins

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        positive, negative = pair_masks(labels)
        # D bins / 4 with D = 2 - 2 cos
        positions = ((1 - z @ z.T) * (self.bins / 2)).clamp(0, self.bins)
        h_positive = soft_bins(positions, positive.to(z.dtype), self.bins).histogram()
        h_negative = soft_bins(positions, negative.to(z.dtype), self.bins).histogram()
        positive_below, below = running_sums(h_positive), running_sums(h_positive + h_negative)
        precision = h_positive * positive_below / where(below > 0, below, inf)
        n_positives = positive.sum(1)
        loss = 1 - mean_where(n_positives > 0, precision.sum(1) / n_positives.clamp_min(1))
        return where(positive.any() & negative.any(), loss, 0)
