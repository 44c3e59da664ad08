"""Scores by the year in which each loss was published, and what papers claim by the year of theirs.

Formula
    here     the best method with each loss in these runs, by Precision@1 and by MAP@R; a line fitted by least squares
    claimed  what a paper prints for its own method; for the contrastive and the triplet loss the mean of what papers
             report (*). No number that was measured by those who compare methods

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 2, and its supplementary page for
    the version with MAP@R.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from fairground.papers.claims import Claim, claims_on
from fairground.papers.published import published_years
from fairground.reporting.drawing import Draw, axes_in, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.headings import heading, shorten, unit
from fairground.reporting.label_places import label_shifts
from fairground.reporting.palette import Palette
from fairground.spec.declarations import reference_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 90
LEAST_LOSSES = 3
#: the metric of the figure's second version
SECOND = "map@r"
_FIRST = ("recall@1", "precision@1")


@dataclass(frozen=True, kw_only=True)
class Dated:
    """The best method with one loss here, and the year of the loss."""

    loss: str
    year: int
    score: float
    n_runs: int


def year_of(loss: str) -> int | None:
    """Return the year of a loss as MLRC's table has it, otherwise that of the publication it follows."""
    reference = reference_of("losses", loss)
    return published_years().get(loss, None if reference is None else reference.year)


def dated_of(inputs: FigureInputs, metric: str) -> list[Dated]:
    """Return the losses with a known year, oldest first, each by its best method."""
    best: dict[str, Dated] = {}
    for method in inputs.methods:
        loss = inputs.settings(method).get("loss", "")
        year, scores = year_of(loss), inputs.scores(method, metric)
        if year is None or not scores:
            continue
        found = Dated(loss=loss, year=year, score=fmean(scores), n_runs=len(scores))
        if loss not in best or found.score > best[loss].score:
            best[loss] = found
    return sorted(best.values(), key=lambda dated: (dated.year, dated.loss))


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when losses of several years were run."""
    metrics = list(dict.fromkeys([inputs.habitual, *([SECOND] if SECOND in inputs.table.metrics else [])]))
    panels = {metric: dated_of(inputs, metric) for metric in metrics}
    dated = panels[inputs.habitual]
    if len(dated) < LEAST_LOSSES or len({one.year for one in dated}) < 2:
        return None
    claims = claims_on(inputs.dataset) if inputs.habitual in _FIRST else []
    slopes = " and ".join(f"{_slope(some):+.2f} ({heading(metric)})" for metric, some in panels.items())
    return ReportFigure(
        name="over_time",
        title="Progress over the years",
        sentence=(
            f"{' and '.join(f'{heading(metric)}{unit(metric)}' for metric in panels)} of the best method with each of "
            f"{len(dated)} losses ({count(sum(one.n_runs for one in dated), 'run')}) by the year of its paper; the "
            f"fitted lines move by {slopes} points per year.{_claim_words(claims)} As figure 2 of Musgrave et al., "
            "2020."
        ),
        draw=lambda is_narrow: _drawn(panels, claims, is_narrow),
        height=4.0,
        narrow_height=3.6 * len(panels),
        columns=("what", "year", *(heading(metric) for metric in panels)),
        numbers=_numbers(panels, claims),
    )


def _claim_words(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    return (
        f" Hollow marks are {count(len(claims), 'claim')} of papers on this data set, for their own methods or, with "
        "*, the mean of what they report for a classic loss."
    )


def _numbers(panels: Mapping[str, Sequence[Dated]], claims: Sequence[Claim]) -> tuple[tuple[str, ...], ...]:
    by_metric = {metric: {one.loss: one for one in some} for metric, some in panels.items()}
    first = next(iter(panels.values()))
    here = [
        (
            one.loss,
            str(one.year),
            *(f"{some[one.loss].score:.2f}" if one.loss in some else "-" for some in by_metric.values()),
        )
        for one in first
    ]
    blank = ("-",) * (len(panels) - 1)
    claimed = [(f"claimed: {one.label}", str(one.year), f"{one.value:.2f}", *blank) for one in claims]
    return (*here, *claimed)


def _slope(dated: Sequence[Dated]) -> float:
    return float(np.polyfit([one.year for one in dated], [one.score for one in dated], 1)[0])


def _drawn(panels: Mapping[str, Sequence[Dated]], claims: Sequence[Claim], is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        for axes, (metric, dated) in zip(
            axes_in(figure, len(panels), is_narrow=is_narrow), panels.items(), strict=True
        ):
            _draw_one(axes, metric, dated, () if metric == SECOND else claims, palette, is_narrow=is_narrow)

    return draw


def _draw_one(
    axes: "Axes",
    metric: str,
    dated: Sequence[Dated],
    claims: Sequence[Claim],
    palette: Palette,
    *,
    is_narrow: bool,
) -> None:
    from matplotlib.ticker import MaxNLocator

    plain_axes(axes, palette)
    years, scores = [one.year for one in dated], [one.score for one in dated]
    slope, height = np.polyfit(years, scores, 1)
    ends = np.array([min(years), max(years)])
    axes.plot(ends, slope * ends + height, color=palette.series[0], linewidth=1.5, linestyle=(0, (4, 3)))
    for claim in claims:
        axes.plot(claim.year, claim.value, "o", markersize=5, markerfacecolor="none", markeredgecolor=palette.series[1])
    axes.plot(years, scores, "D", color=palette.series[0], markersize=7)
    axes.set_xlabel("year of the paper", color=palette.soft)
    axes.set_ylabel(f"{heading(metric)}{unit(metric)}", color=palette.soft)
    axes.margins(x=0.2)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4 if is_narrow else 8))
    if not is_narrow:
        here = [(one.loss, one.year, one.score, palette.ink) for one in dated]
        _name(axes, [*here, *((one.label, one.year, one.value, palette.series[1]) for one in claims)])


def _name(axes: "Axes", marks: Sequence[tuple[str, int, float, str]]) -> None:
    """Write the names next to their marks, in colours of their own, where they cover nothing."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    size, share = figure.get_size_inches(), axes.get_position()
    width, height = 72 * size[0] * share.width, 72 * size[1] * share.height
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    labels = [shorten(label, 30) for label, *_ in marks]
    places = [
        (width * (year - left) / (right - left), height * (score - low) / ((high - low) or 1))
        for _, year, score, _ in marks
    ]
    shifts = label_shifts(places, labels, width)
    for label, (_, year, score, colour), shift in zip(labels, marks, shifts, strict=True):
        axes.annotate(
            label,
            (year, score),
            xytext=shift,
            textcoords="offset points",
            ha="left" if shift[0] > 0 else "right",
            va="center",
            fontsize=8,
            color=colour,
        )
