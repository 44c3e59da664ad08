"""Scores by the year in which each loss was published, and the claims of papers by their year.

Formula
    here     the best method with each loss in these runs, by Precision@1 and by MAP@R; a line fitted by least squares
    claimed  what a paper prints for its own method; for the contrastive and the triplet loss the mean of what papers
             report (*). Without numbers measured by papers that compare methods

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 2, and its supplementary page for
    the version with MAP@R.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fairground.papers.claims import Claim, claims_on
from fairground.papers.published import published_years
from fairground.reporting.drawing import DASHED, Line, Names, Panel, Points, panels
from fairground.reporting.figure import PRECISION_AT_1, FigureInputs, ReportFigure, axis_of, count
from fairground.reporting.headings import heading
from fairground.spec.declarations import reference_of

PAGE_ORDER = 90
LEAST_LOSSES = 3
#: the metric of the figure's second version
SECOND = "map@r"


class Dated(NamedTuple):
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
    metrics = dict.fromkeys([inputs.habitual, *([SECOND] if SECOND in inputs.table.metrics else [])])
    by_metric = {metric: dated_of(inputs, metric) for metric in metrics}
    dated = by_metric[inputs.habitual]
    if len(dated) < LEAST_LOSSES or len({one.year for one in dated}) < 2:
        return None
    claims = claims_on(inputs.dataset) if inputs.habitual in PRECISION_AT_1 else []
    marked = (
        f" Hollow marks are {count(len(claims), 'claim')} of papers on this data set, for their own methods or, with "
        "*, the mean of what they report for a classic loss."
    )
    slopes = " and ".join(f"{_fit(some)[0]:+.2f} ({heading(metric)})" for metric, some in by_metric.items())
    scores = [{one.loss: f"{one.score:.2f}" for one in some} for some in by_metric.values()]
    blank = ("-",) * (len(by_metric) - 1)
    return ReportFigure(
        name="over_time",
        title="Progress over the years",
        sentence=(
            f"{' and '.join(map(heading, by_metric))} of the best method with each of "
            f"{len(dated)} losses ({count(sum(one.n_runs for one in dated), 'run')}) by the year of its paper; the "
            f"fitted lines move by {slopes} points per year.{marked if claims else ''} As in figure 2 of "
            "Musgrave et al., 2020."
        ),
        draw=panels([_panel(metric, some, [] if metric == SECOND else claims) for metric, some in by_metric.items()]),
        height=4.0,
        columns=("what", "year", *(heading(metric) for metric in by_metric)),
        numbers=(
            *((one.loss, str(one.year), *(some.get(one.loss, "-") for some in scores)) for one in dated),
            *((f"claimed: {one.label}", str(one.year), f"{one.value:.2f}", *blank) for one in claims),
        ),
    )


def _fit(dated: Sequence[Dated]) -> tuple[float, float]:
    """Return the slope and the height at year 0 of the line through the scores."""
    slope, height = np.polyfit([one.year for one in dated], [one.score for one in dated], 1)
    return float(slope), float(height)


def _panel(metric: str, dated: Sequence[Dated], claims: Sequence[Claim]) -> Panel:
    years, scores = [one.year for one in dated], [one.score for one in dated]
    slope, height = _fit(dated)
    ends = (min(years), max(years))
    claimed = [(claim.label, claim.year, claim.value, 1) for claim in claims]
    return Panel(
        items=[
            Line(x=ends, y=[slope * end + height for end in ends], dash=DASHED, width=1.5),
            Points(
                x=[claim.year for claim in claims],
                y=[claim.value for claim in claims],
                series=1,
                sign="o",
                size=5,
                is_hollow=True,
            ),
            Points(x=years, y=scores, sign="D", size=7, alpha=1),
            Names(marks=[*((one.loss, one.year, one.score, "ink") for one in dated), *claimed]),
        ],
        x="year of the paper",
        y=axis_of(metric),
        margin=0.2,
        has_whole_x=True,
    )
