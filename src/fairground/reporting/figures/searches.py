"""Searches for settings: the course of each search, and how much each setting matters.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, optimisation plots of its supplementary
    page (traces).
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from fairground.reporting.drawing import Line, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.reporting.headings import shorten
from fairground.spec.measurement_names import goodness
from fairground.studies.search_analysis import trace

PAGE_ORDER = {"traces": 100, "sensitivity": 105}
_MOST = 8
#: a range this many times wide has a logarithmic axis
_WIDE = 30


def traces(inputs: FigureInputs) -> ReportFigure | None:
    axis, factor = f"Validation {axis_of(inputs.metric)}", factor_of(inputs.metric)
    drawn: list[Panel] = []
    rows = []
    for label, points in ((label, trace(trials)) for label, trials in inputs.trials.items()):
        scored = {point.number: factor * point.score for point in points if point.score is not None}
        if not scored:
            continue
        best = {point.number: factor * point.best for point in points if point.best is not None}
        dots = Points(x=list(scored), y=list(scored.values()), series="soft", size=4, alpha=0.7)
        line = Line(x=list(best), y=list(best.values()), is_stepped=True)
        drawn.append(Panel(items=[dots, line], title=label, x="trial", has_whole_x=True))
        rows.append((label, len(points), len(scored), best[points[-1].number]))
    if not rows:
        return None
    left_out = f" The first {_MOST} are drawn." if len(rows) > _MOST else ""
    return ReportFigure(
        name="traces",
        title="The course of each search",
        sentence=(
            f"{axis} of every finished trial in order, and the best so far: "
            f"{count(sum(n for _, n, *_ in rows), 'trial')} of {count(len(rows), 'method')}. A line still rising at "
            f"the end suggests more trials.{left_out}"
        ),
        draw=panels(drawn[:_MOST], y=axis, has_shared_y=True),
        height=0.6 + 2.1 * -(-len(drawn[:_MOST]) // 2),
        columns=("method", "trials", "finished", "best"),
        rows=rows,
    )


#: the settings and the score of each trial or method, by the loss or method they belong to
Rows = Mapping[str, Sequence[tuple[Mapping[str, object], float]]]


class Sensitivity(NamedTuple):
    """One setting of one loss: (value, score) of every trial or method, and the best of them.

    `reach` is the range of the mean scores of its values; `is_alone` says that nothing else differs.
    """

    owner: str
    setting: str
    points: list[tuple[float, float]]
    best: tuple[float, float]
    reach: float
    is_alone: bool


def sensitivities_of(inputs: FigureInputs) -> tuple[list[Sensitivity], bool]:
    """Return every varied number: from the trials of searches, which is said, otherwise from methods of one loss."""
    is_higher = inputs.table.higher_is_better.get(inputs.metric) is not False
    factor = factor_of(inputs.metric)
    trials: Rows = {
        label: [(trial.settings, factor * trial.score) for trial in trials if trial.score is not None]
        for label, trials in inputs.trials.items()
    }
    searched = _varied(trials, is_higher)
    if searched:
        return searched, True
    by_loss: dict[str, list[tuple[Mapping[str, object], float]]] = {}
    for method in inputs.methods:
        scores, settings = inputs.scores(method), inputs.settings(method)
        if scores:
            by_loss.setdefault(settings.get("loss", "?"), []).append((settings, fmean(scores)))
    return _varied(by_loss, is_higher), False


def _varied(rows: Rows, is_higher: bool) -> list[Sensitivity]:
    """Return the settings with two numbers or more, the one that moves the score most first."""
    found = []
    for owner, some in rows.items():
        for key in dict.fromkeys(key for settings, _ in some for key in settings):
            at: dict[float, list[float]] = {}
            others = set()
            for settings, score in some:
                number = _number(settings.get(key))
                if number is not None:
                    at.setdefault(number, []).append(score)
                    others.add(tuple((name, value) for name, value in settings.items() if name != key))
            if len(at) < 2:
                continue
            means = [fmean(scores) for scores in at.values()]
            points = sorted((x, score) for x, scores in at.items() for score in scores)
            best = max(points, key=lambda point: goodness(point[1], is_higher))
            found.append(Sensitivity(owner, key, points, best, max(means) - min(means), len(others) == 1))
    return sorted(found, key=lambda one: -one.reach)


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except ValueError:
        return None


def sensitivity(inputs: FigureInputs) -> ReportFigure | None:
    found, is_search = sensitivities_of(inputs)
    if not found:
        return None
    drawn = []
    for owner, setting, points, best, *_ in found[:_MOST]:
        x, y = zip(*points, strict=True)
        dots = [
            Points(x=x, y=y, size=5, alpha=0.7),
            Points(x=best[:1], y=best[1:], series=1, sign="D", size=7, alpha=1),
        ]
        is_wide = min(x) > 0 and max(x) > _WIDE * min(x)
        drawn.append(Panel(items=dots, title=owner, x=shorten(setting, 40), log="x" if is_wide else ""))
    axis = f"{'Validation' if is_search else inputs.table.split.capitalize()} {axis_of(inputs.metric)}"
    what = "one point per trial" if is_search else "one point per method, mean over its seeds"
    first = ", the one that moves it most first" if len(found) > 1 else ""
    more = f"; {len(found) - _MOST} more are not drawn" if len(found) > _MOST else ""
    caveat = " Other settings vary too, so this shows where to look, not what causes the difference."
    n = len({point for one in found for point in one.points})
    return ReportFigure(
        name="sensitivity",
        title="Sensitivity to settings",
        sentence=(
            f"{axis} against each varied number, {what} ({count(n, 'point')}){first}{more}. Diamonds are the best."
            f"{'' if all(one.is_alone for one in found) else caveat}"
        ),
        draw=panels(drawn, y=axis),
        height=0.6 + 2.3 * -(-len(drawn) // 2),
    )
