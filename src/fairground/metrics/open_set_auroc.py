"""AUROC of known against unknown queries: how often one of a known class scores above one of an unknown class.

Formula
    AUROC = P(s_known > s_unknown) + P(s_known = s_unknown) / 2
    s_known = the best similarity of a query
    s_unknown = its best similarity when its own class is not among the references

Paper
    Hendrycks and Gimpel, "A baseline for detecting misclassified and out-of-distribution examples in neural networks",
    ICLR 2017, section 2.

Departures from the paper
    The score is the best similarity, not a softmax probability. Every query is put both ways, against references with
    and without its class, unless a gallery of its own lacks the class of some: then these are the unknown ones.
"""

from fairground.contracts.metric import OpenSet, OpenSetMetric


class OpenSetAurocMetric(OpenSetMetric):
    """Takes no settings."""

    title = "Open-set AUROC"
    aliases = ("known_unknown_auroc", "openset_auroc")

    def score(self, trials: OpenSet) -> float:
        weights = trials.known_weights
        return float(weights @ trials.unknown_share_below(trials.known) / weights.sum())
