"""Scores by the year in which each loss was published, beside what papers say of the same losses.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 2.
"""

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from fairground.records.published import published_rows, published_years
from fairground.report.drawing import Draw, plain_axes
from fairground.report.figure import ReportFigure
from fairground.report.figure_inputs import FigureInputs, count
from fairground.report.headings import heading, shorten, unit
from fairground.report.palette import Palette
from fairground.spec.declarations import reference_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 90
LEAST_LOSSES = 3


@dataclass(frozen=True, kw_only=True)
class Dated:
    """The best method with one loss here, and the year of the loss; `claimed` is what papers report of it, if any."""

    loss: str
    year: int
    score: float
    n_runs: int
    claimed: tuple[float, ...]


def year_of(loss: str) -> int | None:
    """Return the year of a loss as MLRC's table has it, otherwise that of the publication it follows."""
    reference = reference_of("losses", loss)
    return published_years().get(loss, None if reference is None else reference.year)


def dated_of(inputs: FigureInputs) -> list[Dated]:
    """Return the losses with a known year, oldest first, each by its best method."""
    best: dict[str, Dated] = {}
    for method in inputs.methods:  # best first
        loss = inputs.settings(method).get("loss", "")
        year, scores = year_of(loss), inputs.scores(method, inputs.habitual)
        if year is not None and scores and loss not in best:
            claimed = _published_claims(loss, inputs.dataset) if inputs.habitual in ("recall@1", "precision@1") else ()
            best[loss] = Dated(loss=loss, year=year, score=fmean(scores), n_runs=len(scores), claimed=claimed)
    return sorted(best.values(), key=lambda dated: (dated.year, dated.loss))


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when losses of several years were run."""
    dated = dated_of(inputs)
    if len(dated) < LEAST_LOSSES or len({one.year for one in dated}) < 2:
        return None
    axis = f"{heading(inputs.habitual)}{unit(inputs.habitual)}"
    slope = _slope(dated)
    n_runs = sum(one.n_runs for one in dated)
    n_claims = sum(len(one.claimed) for one in dated)
    claims = f" Hollow marks are {count(n_claims, 'number')} of papers on this data set." if n_claims else ""
    return ReportFigure(
        name="over_time",
        title="Progress over the years",
        sentence=(
            f"{axis} of the best method with each of {len(dated)} losses ({count(n_runs, 'run')}) "
            f"by the year of its paper; the fitted line moves by {slope:+.2f} points a year.{claims} As figure 2 of "
            "Musgrave et al., 2020."
        ),
        draw=lambda is_narrow: _drawn(dated, axis, is_narrow),
        height=4.0,
        narrow_height=3.6,
        columns=("loss", "year", "here", "in papers"),
        numbers=tuple(
            (d.loss, str(d.year), f"{d.score:.2f}", f"{fmean(d.claimed):.2f}" if d.claimed else "-") for d in dated
        ),
    )


def _published_claims(loss: str, dataset: str) -> tuple[float, ...]:
    rows = [row for row in published_rows() if row.loss == loss and row.dataset == dataset]
    return tuple(row.right_value for row in rows if row.metric in ("recall@1", "precision@1"))


def _slope(dated: list[Dated]) -> float:
    return float(np.polyfit([one.year for one in dated], [one.score for one in dated], 1)[0])


def _drawn(dated: list[Dated], axis: str, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = figure.add_subplot()
        plain_axes(axes, palette)
        years, scores = [one.year for one in dated], [one.score for one in dated]
        slope, height = np.polyfit(years, scores, 1)
        ends = np.array([min(years), max(years)])
        axes.plot(ends, slope * ends + height, color=palette.series[0], linewidth=1.5, linestyle=(0, (4, 3)))
        for one in dated:
            places = [one.year] * len(one.claimed)
            axes.plot(places, one.claimed, "o", markersize=5, markerfacecolor="none", markeredgecolor=palette.series[1])
        axes.plot(years, scores, "D", color=palette.series[0], markersize=7)
        if not is_narrow:
            _name(axes, dated, palette)
        axes.set_xlabel("year of the paper", color=palette.soft)
        axes.set_ylabel(axis, color=palette.soft)
        axes.margins(x=0.12)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    return draw


def _name(axes: "Axes", dated: list[Dated], palette: Palette) -> None:
    """Write the losses beside their marks, those of one year alternately left and right."""
    for i, one in enumerate(dated):
        is_right = i % 2 == 0
        axes.annotate(
            shorten(one.loss, 24),
            (one.year, one.score),
            xytext=(7 if is_right else -7, 0),
            textcoords="offset points",
            ha="left" if is_right else "right",
            va="center",
            fontsize=8.5,
            color=palette.ink,
        )
