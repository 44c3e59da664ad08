"""FNMR at a given FMR: how many genuine pairs are refused when so many impostor pairs may pass.

Formula
    FNMR@FMR=f = min over thresholds t with FMR(t) <= f of FNMR(t)
    FMR(t) = share of impostor pairs with s >= t,  FNMR(t) = share of genuine pairs with s < t

Paper
    ISO/IEC 19795-1, "Biometric performance testing and reporting", 2021.

Departures from the paper
    None. The threshold is exact, no quantile is interpolated: a genuine pair's own similarity is always among the best.
"""

from fairground.contracts.metric import Verification, VerificationMetric, require


class FnmrMetric(VerificationMetric):
    """`fmr` is the share of impostor pairs that may pass."""

    title = "FNMR"
    argument = "fmr"
    higher_is_better = False

    def __init__(self, *, fmr: float = 0.01) -> None:
        require(0 <= fmr < 1, f"fnmr.fmr must be in [0, 1), the share of impostor pairs that may pass; got {fmr}")
        self.fmr = fmr

    def score(self, curve: Verification) -> float:
        allowed = curve.passing <= self.fmr * curve.n_impostors
        return float(curve.refused[allowed].min(initial=curve.genuine.sum()) / curve.genuine.sum())
