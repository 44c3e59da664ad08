"""Lag-one autocorrelation of each metric over the epochs of training: how smoothly it moves.

Formula
    r = sum_t (x_t - m)(x_t+1 - m) / sum_t (x_t - m)^2,  x_t the score at the t-th validation of one run, m their mean;
    without the untrained network, runs with fewer than `LEAST_EPOCHS` and constant scores

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, section 3.2: 0.73 for Recall@1
    and 0.81 for MAP@R over their experiments.
"""

from dataclasses import dataclass
from itertools import chain
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from fairground.reporting.drawing import Bar, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import heading

PAGE_ORDER = 85
LEAST_EPOCHS = 4
#: as MLRC states for all of its experiments
MLRC = {"recall@1": 0.73, "precision@1": 0.73, "map@r": 0.81}


@dataclass(frozen=True, kw_only=True)
class MetricAutocorrelation:
    """One metric: the mean over `n_runs` of a run's autocorrelation."""

    metric: str
    mean: float
    n_runs: int


def lags_one(series: NDArray[np.float64]) -> list[float]:
    """Return the lag-one autocorrelations of the rows (series, validations) that are long enough and not constant."""
    if series.shape[1] < LEAST_EPOCHS:
        return []
    moving = series[series.min(axis=1) < series.max(axis=1)]
    apart = moving - moving.mean(axis=1, keepdims=True)
    found: list[float] = ((apart[:, :-1] * apart[:, 1:]).sum(axis=1) / (apart**2).sum(axis=1)).tolist()
    return found


def autocorrelations_of(inputs: FigureInputs) -> list[MetricAutocorrelation]:
    """Return the metrics that the runs were validated by while they trained, the smoothest first."""
    # Runs that were validated alike are one table (runs, scores): there may be thousands.
    alike: dict[tuple[str, ...], list[list[float]]] = {}
    for record in (record for method in inputs.methods for record in method.done):
        epochs = [row.validation for row in record.epochs if row.epoch > 0]
        metrics = tuple(chain.from_iterable(epochs))
        alike.setdefault(metrics, []).append([value for scores in epochs for value in scores.values()])
    by_metric: dict[str, list[float]] = {}
    for metrics, runs in alike.items():
        table = np.array(runs, dtype=np.float64)
        for metric in dict.fromkeys(metrics):
            columns = [place for place, one in enumerate(metrics) if one == metric]
            by_metric.setdefault(metric, []).extend(lags_one(table[:, columns]))
    found = [
        MetricAutocorrelation(metric=metric, mean=fmean(values), n_runs=len(values))
        for metric, values in by_metric.items()
        if values
    ]
    return sorted(found, key=lambda one: -one.mean)


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for at least two metrics and two runs with enough validations."""
    found = autocorrelations_of(inputs)
    if len(found) < 2 or max(one.n_runs for one in found) < 2:
        return None
    known = [(row, MLRC[one.metric]) for row, one in enumerate(found) if one.metric in MLRC]
    panel = Panel(
        items=[
            *(Bar(row=row, value=one.mean) for row, one in enumerate(found)),
            Points(x=[r for _, r in known], y=[row for row, _ in known], series="ink", is_hollow=True),
        ],
        rows=[heading(one.metric) for one in found],
        x="lag-one autocorrelation",
        has_zero_line=True,
    )
    return ReportFigure(
        name="autocorrelation",
        title="How smoothly each metric moves during training",
        sentence=(
            "Lag-one autocorrelation of each metric over the epochs of a run, mean over "
            f"{count(max(one.n_runs for one in found), 'run')}: near 1 a score moves smoothly, near 0 it jumps. Hollow "
            "marks are the values of Musgrave et al., 2020, section 3.2: 0.73 for Recall@1, 0.81 for MAP@R."
        ),
        draw=panels([panel]),
        height=1.2 + 0.34 * len(found),
        columns=("metric", "autocorrelation", "runs", "MLRC"),
        numbers=tuple(
            (
                heading(one.metric),
                f"{one.mean:.2f}",
                str(one.n_runs),
                f"{MLRC[one.metric]:.2f}" if one.metric in MLRC else "-",
            )
            for one in found
        ),
    )
