"""Lag-one autocorrelation of each metric over the epochs of training: how smoothly it moves.

Formula
    r = sum_t (x_t - m)(x_t+1 - m) / sum_t (x_t - m)^2,  x_t the score at the t-th validation of one run, m their mean;
    without the untrained network, runs with fewer than `LEAST_EPOCHS` and constant scores

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, section 3.2: 0.73 for Recall@1
    and 0.81 for MAP@R over their experiments.
"""

from collections.abc import Sequence
from itertools import chain
from statistics import fmean

import numpy as np

from fairground.reporting.drawing import bars_and_marks, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import heading

PAGE_ORDER = 85
LEAST_EPOCHS = 4
#: as MLRC states for all of its experiments
MLRC = {"recall@1": 0.73, "precision@1": 0.73, "map@r": 0.81}


def lag_one(scores: Sequence[float]) -> float | None:
    """Return the autocorrelation of scores; None where they are too few or constant."""
    if len(scores) < LEAST_EPOCHS or min(scores) == max(scores):
        return None
    apart = np.array(scores) - np.mean(scores)
    return float((apart[:-1] * apart[1:]).sum() / (apart**2).sum())


def autocorrelations_of(inputs: FigureInputs) -> list[tuple[str, float, int]]:
    """Return each validation metric with its mean over runs and their number, the smoothest first."""
    by_metric: dict[str, list[float]] = {}
    for record in (record for method in inputs.methods for record in method.done):
        epochs = [row.validation for row in record.epochs if row.epoch > 0]
        for metric in dict.fromkeys(chain.from_iterable(epochs)):
            r = lag_one([scores[metric] for scores in epochs if metric in scores])
            if r is not None:
                by_metric.setdefault(metric, []).append(r)
    found = [(metric, fmean(values), len(values)) for metric, values in by_metric.items()]
    return sorted(found, key=lambda row: -row[1])


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for at least two metrics and two runs with enough validations."""
    found = autocorrelations_of(inputs)
    most = max((n_runs for *_, n_runs in found), default=0)
    if len(found) < 2 or most < 2:
        return None
    rows = [(heading(metric), r, MLRC.get(metric)) for metric, r, _ in found]
    return ReportFigure(
        name="autocorrelation",
        title="How smoothly each metric moves during training",
        sentence=(
            f"Lag-one autocorrelation of each metric over the epochs of a run, mean over {count(most, 'run')}: near 1 "
            "a score moves smoothly, near 0 it jumps. Hollow marks are the values of Musgrave et al., 2020, section "
            "3.2: 0.73 for Recall@1, 0.81 for MAP@R."
        ),
        draw=panels([bars_and_marks(rows, x="lag-one autocorrelation")]),
        height=1.2 + 0.34 * len(found),
        columns=("metric", "autocorrelation", "runs", "MLRC"),
        numbers=tuple(
            (name, f"{r:.2f}", str(n_runs), "-" if theirs is None else f"{theirs:.2f}")
            for (name, r, theirs), (*_, n_runs) in zip(rows, found, strict=True)
        ),
    )
