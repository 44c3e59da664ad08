"""ROC-AUC of verification: the chance that a genuine pair is more similar than an impostor pair.

Formula
    AUC = P(s_genuine > s_impostor) + P(s_genuine = s_impostor) / 2,  over all pairs of different rows

Paper
    Fawcett, "An introduction to ROC analysis", Pattern Recognition Letters 2006.

Departures from the paper
    None: every pair is counted, none sampled.
"""

from fairground.contracts.metric import Verification, VerificationMetric


class RocAucMetric(VerificationMetric):
    """Takes no settings."""

    title = "ROC AUC"
    aliases = ("auc", "auroc")

    def score(self, curve: Verification) -> float:
        beaten_by = curve.impostors_above + curve.impostors_equal / 2
        return float(1 - curve.genuine @ beaten_by / (curve.genuine.sum() * curve.n_impostors))
