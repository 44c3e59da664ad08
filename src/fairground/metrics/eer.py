"""EER, equal error rate: the share of wrong answers at the threshold where both kinds of error are equally frequent.

Formula
    EER = FMR = FNMR where the ROC curve, vertices joined by straight lines, meets FMR = FNMR

Paper
    ISO/IEC 19795-1, "Biometric performance testing and reporting", 2021; the joined curve as in Fawcett, "An
    introduction to ROC analysis", 2006.

Departures from the paper
    None.
"""

import numpy as np

from fairground.contracts.metric import Verification, VerificationMetric


class EerMetric(VerificationMetric):
    """Takes no settings."""

    title = "EER"
    aliases = ("equal_error_rate",)
    higher_is_better = False

    def score(self, curve: Verification) -> float:
        n_genuine = curve.genuine.sum()
        below = curve.refused
        # Two vertices a similarity: threshold at it, and just above it; lowest threshold first.
        fmr = np.stack([curve.passing, curve.impostors_above], 1).ravel()
        fnmr = np.stack([below, below + curve.genuine], 1).ravel()
        gap = fnmr / n_genuine - fmr / curve.n_impostors
        gap = np.concatenate(([-1.0], gap, [1.0]))
        rate = np.concatenate(([0.0], fnmr / n_genuine, [1.0]))
        after = int(np.argmax(gap >= 0))
        step = gap[after] - gap[after - 1]
        share = gap[after] / step
        return float(rate[after] - share * (rate[after] - rate[after - 1]))
