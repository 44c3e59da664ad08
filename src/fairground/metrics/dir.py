"""DIR at a given FPIR: known queries detected and identified when so many unknown ones may be taken for known.

Formula
    FPIR(t) = share of unknown queries with a score >= t
    DIR@FPIR=f = max over thresholds t with FPIR(t) <= f of the share of known queries that are right and score >= t

Paper
    Grother and Phillips, "Evaluation methods in face recognition", Handbook of Face Recognition, Springer 2011;
    ISO/IEC 19795-1, "Biometric performance testing and reporting", 2021.

Departures from the paper
    None. The threshold is exact, no quantile is interpolated. Every query is put both ways, against references with and
    without its class, unless a gallery of its own lacks the class of some: then these are the unknown ones.
"""

import numpy as np

from fairground.contracts.metric import OpenSet, OpenSetMetric, require


class DirMetric(OpenSetMetric):
    """`fpir` is the share of unknown queries that may be taken for known ones."""

    title = "DIR"
    argument = "fpir"
    aliases = ("detection_and_identification_rate", "tpir")

    def __init__(self, *, fpir: float = 0.05) -> None:
        require(0 <= fpir < 1, f"dir.fpir must be in [0, 1), the share of unknown queries that may pass; got {fpir}")
        self.fpir = fpir

    def score(self, trials: OpenSet) -> float:
        order = np.argsort(-trials.other, kind="stable")
        passing = np.cumsum(trials.unknown_weights[order])
        # Rounding in the sum of weights must not cost the query that exactly fills the allowance.
        refused = np.flatnonzero(passing > self.fpir * passing[-1] * (1 + 1e-12))
        highest_refused = trials.other[order[refused[0]]]
        is_found = trials.is_right & (trials.known > highest_refused)
        return float(trials.known_weights @ is_found / trials.known_weights.sum())
