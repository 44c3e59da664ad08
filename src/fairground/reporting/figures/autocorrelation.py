"""Lag-one autocorrelation of each metric over the epochs of training: how little it jumps from one look to the next.

Formula
    r = sum_t (x_t - m)(x_t+1 - m) / sum_t (x_t - m)^2,  x_t the score at the t-th look of one run, m their mean;
    looks at the untrained network are left out, and so are runs with fewer than `LEAST_EPOCHS` or a constant score

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, section 3.2: 0.73 for Recall@1
    and 0.81 for MAP@R over their experiments.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairground.records.record import RunRecord
from fairground.reporting.drawing import Draw, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.headings import heading
from fairground.reporting.palette import Palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

PAGE_ORDER = 85
LEAST_EPOCHS = 4
#: what MLRC states for all of its experiments
MLRC: Mapping[str, float] = {"recall@1": 0.73, "precision@1": 0.73, "map@r": 0.81}


@dataclass(frozen=True, kw_only=True)
class MetricAutocorrelation:
    """One metric: the mean over `n_runs` of a run's autocorrelation."""

    metric: str
    mean: float
    n_runs: int


def lags_one(series: Array) -> list[float]:
    """Return the lag-one autocorrelations of the rows (series, looks) that move, if there are looks enough."""
    if series.shape[1] < LEAST_EPOCHS:
        return []
    moving = series[series.min(axis=1) < series.max(axis=1)]
    apart = moving - moving.mean(axis=1, keepdims=True)
    found: list[float] = ((apart[:, :-1] * apart[:, 1:]).sum(axis=1) / (apart**2).sum(axis=1)).tolist()
    return found


def autocorrelations_of(inputs: FigureInputs) -> list[MetricAutocorrelation]:
    """Return the metrics that the runs looked at while they trained, the steadiest first."""
    by_metric: dict[str, list[float]] = {}
    for metrics, table in _validations(record for method in inputs.methods for record in method.done):
        for metric in dict.fromkeys(metrics):
            columns = [place for place, one in enumerate(metrics) if one == metric]
            by_metric.setdefault(metric, []).extend(lags_one(table[:, columns]))
    found = [
        MetricAutocorrelation(metric=metric, mean=fmean(values), n_runs=len(values))
        for metric, values in by_metric.items()
        if values
    ]
    return sorted(found, key=lambda one: -one.mean)


def _validations(records: Iterable[RunRecord]) -> Iterator[tuple[tuple[str, ...], Array]]:
    """Yield the scores of runs that looked alike, (runs, scores), all looks one after the other, and their metrics."""
    alike: dict[tuple[str, ...], list[list[float]]] = {}
    for record in records:
        scores_of_epochs = [row.validation for row in record.epochs if row.epoch > 0]
        metrics = tuple(chain.from_iterable(scores_of_epochs))
        alike.setdefault(metrics, []).append([value for scores in scores_of_epochs for value in scores.values()])
    for metrics, runs in alike.items():
        yield metrics, np.array(runs, dtype=np.float64)


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for two metrics and two runs at least, looked at often enough."""
    found = autocorrelations_of(inputs)
    if len(found) < 2 or max(one.n_runs for one in found) < 2:
        return None
    return ReportFigure(
        name="autocorrelation",
        title="How steadily each metric moves during training",
        sentence=(
            f"Lag-one autocorrelation of each metric over the epochs of a run, mean over "
            f"{count(max(one.n_runs for one in found), 'run')}: near 1 a score moves smoothly, near 0 it jumps. Hollow "
            "marks are what Musgrave et al., 2020, section 3.2, find over their experiments: 0.73 for Recall@1, 0.81 "
            "for MAP@R."
        ),
        draw=lambda _: _drawn(found),
        height=1.2 + 0.34 * len(found),
        narrow_height=1.4 + 0.36 * len(found),
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


def _drawn(found: Sequence[MetricAutocorrelation]) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        plain_axes(axes, palette)
        axes.grid(visible=False, axis="y")
        for line, one in enumerate(found):
            axes.barh(line, one.mean, 0.55, color=palette.series[0], alpha=0.5, linewidth=0)
            if one.metric in MLRC:
                axes.plot(
                    MLRC[one.metric], line, "o", markerfacecolor="none", markeredgecolor=palette.ink, markersize=6
                )
        axes.axvline(0, color=palette.soft, linewidth=1)
        axes.set_yticks(range(len(found)), [heading(one.metric) for one in found], color=palette.ink)
        axes.set_ylim(len(found) - 0.5, -0.5)
        axes.set_xlabel("lag-one autocorrelation", color=palette.soft, fontsize=9)

    return draw
