"""OSCR: the area under the rate of right answers over the rate of unknown queries that are taken for known ones.

Formula
    CCR(t) = share of known queries answered with their class and a score >= t,  FPR(t) = share of unknown ones >= t
    OSCR = area under CCR over FPR = mean over pairs of a known and an unknown query of
           1 if the known one is right and scores above, 1/2 if it is right and scores the same, else 0

Paper
    Dhamija, Günther and Boult, "Reducing network agnostophobia", NeurIPS 2018, section 4; the area as in Vaze et al.,
    "Open-set recognition: a good closed-set classifier is all you need", ICLR 2022.

Departures from the paper
    The answer is the class of the nearest reference. Every query is put both ways, with and without its class,
    unless a gallery of its own lacks the class of some: then these are the unknown ones.
"""

from fairground.contracts.metric import OpenSet, OpenSetMetric


class OscrMetric(OpenSetMetric):
    """Takes no settings."""

    title = "OSCR"
    aliases = ("open_set_classification_rate",)

    def score(self, trials: OpenSet) -> float:
        weights = trials.known_weights
        area = (weights * trials.is_right) @ trials.unknown_share_below(trials.known)
        return float(area / weights.sum())
