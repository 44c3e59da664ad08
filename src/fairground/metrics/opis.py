"""OPIS, operating-point inconsistency: how differently one threshold treats the classes. Lower is better.

Formula
    OPIS = mean over classes i and thresholds d of (U_i(d) - mean_i U_i(d))^2
    U_i(d) = harmonic mean of the share of pairs within class i at most d apart, and of the share of pairs with one end
    in i that are farther apart than d
    d: `n_thresholds` equidistant ones between those where a share `low_far`, and `high_far`, of all impostor pairs pass

Paper
    Zhang, Guo, Ding, Chen, Xiao, Roth, Wu and Xia, "Threshold-Consistent Margin Loss for Open-World Deep Metric
    Learning", ICLR 2024, section 3.

Departures from the paper
    Classes with a single image are impostors of others only. Both ends of the range are the last of 10,000 equidistant
    distances at which no more impostor pairs pass than that. The worst tail of classes (epsilon-OPIS) is left out.
"""

import numpy as np

from fairground.contracts.metric import ConsistencyMetric, PairShares, require


class OpisMetric(ConsistencyMetric):
    """`low_far` and `high_far` are false acceptance rates: the range in which a threshold would be chosen."""

    title = "OPIS"
    higher_is_better = False

    def __init__(self, *, low_far: float = 0.01, high_far: float = 0.1, n_thresholds: int = 101) -> None:
        rates = f"opis.low_far and opis.high_far must be in (0, 1), the second at least the first; got {low_far}"
        require(0 < low_far <= high_far < 1, f"{rates} and {high_far}")
        require(n_thresholds >= 1, f"opis.n_thresholds must be at least 1; got {n_thresholds}")
        self.low_far, self.high_far, self.n_thresholds = low_far, high_far, n_thresholds

    def per_class(self, shares: PairShares) -> np.ndarray:
        accepted, refused = shares(self.low_far, self.high_far, self.n_thresholds)
        total = accepted + refused
        utility = 2 * accepted * refused / np.where(total > 0, total, 1)
        return np.asarray(((utility - utility.mean(0)) ** 2).mean(1))
