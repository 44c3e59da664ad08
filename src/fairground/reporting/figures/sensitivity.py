"""How much a setting matters: the score at each value of every varied number."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from fairground.reporting.drawing import Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.reporting.headings import shorten
from fairground.spec.measurement_names import goodness

PAGE_ORDER = 105
_MOST = 8
#: a range this many times wide has a logarithmic axis
_WIDE = 30
_MANY = " Other settings vary too, so this shows where to look, not what causes the difference."


class Sensitivity(NamedTuple):
    """One setting of one loss: (value, score) of every trial or method, and the best of them.

    `reach` is the range of the mean scores of its values; `is_alone` says that nothing else differs.
    """

    owner: str
    setting: str
    points: tuple[tuple[float, float], ...]
    best: tuple[float, float]
    reach: float
    is_alone: bool


#: the settings and the score of each trial or method, by the loss or method they belong to
Rows = Mapping[str, Sequence[tuple[Mapping[str, object], float]]]


def sensitivities_of(inputs: FigureInputs) -> list[Sensitivity]:
    """Return every varied number: from the trials of searches, otherwise from methods that share a loss."""
    return _varied(inputs, _trials(inputs)) or _varied(inputs, _methods(inputs))


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when some number was varied."""
    found = sensitivities_of(inputs)
    if not found:
        return None
    shown = found[:_MOST]
    is_search = bool(_varied(inputs, _trials(inputs)))
    axis = f"{'Validation' if is_search else inputs.table.split.capitalize()} {axis_of(inputs.metric)}"
    what = "one point per trial" if is_search else "one point per method, mean over its seeds"
    n = len({point for one in found for point in one.points})
    return ReportFigure(
        name="sensitivity",
        title="Sensitivity to settings",
        sentence=(
            f"{axis} against each varied number, {what} ({count(n, 'point')})"
            f"{', the one that moves it most first' if len(found) > 1 else ''}"
            f"{f'; {len(found) - _MOST} more are not drawn' if len(found) > _MOST else ''}. Diamonds are the best."
            f"{'' if all(one.is_alone for one in found) else _MANY}"
        ),
        draw=panels([_panel(one) for one in shown], y=axis),
        height=0.6 + 2.3 * -(-len(shown) // 2),
    )


def _trials(inputs: FigureInputs) -> Rows:
    factor = factor_of(inputs.metric)
    return {
        label: [(trial.settings, factor * trial.score) for trial in trials if trial.score is not None]
        for label, trials in inputs.trials.items()
    }


def _methods(inputs: FigureInputs) -> Rows:
    by_loss: dict[str, list[tuple[Mapping[str, object], float]]] = {}
    for method in inputs.methods:
        scores, settings = inputs.scores(method), inputs.settings(method)
        if scores:
            by_loss.setdefault(settings.get("loss", "?"), []).append((settings, fmean(scores)))
    return by_loss


def _varied(inputs: FigureInputs, rows: Rows) -> list[Sensitivity]:
    """Return the settings with two numbers or more, the one that moves the score most first."""
    is_higher = inputs.table.higher_is_better.get(inputs.metric) is not False
    found = []
    for owner, some in rows.items():
        for key in dict.fromkeys(key for settings, _ in some for key in settings):
            numbered = [
                (x, score, settings) for settings, score in some if (x := _number(settings.get(key))) is not None
            ]
            at: dict[float, list[float]] = {}
            for x, score, _ in numbered:
                at.setdefault(x, []).append(score)
            if len(at) < 2:
                continue
            means = [fmean(scores) for scores in at.values()]
            others = {tuple((name, value) for name, value in each.items() if name != key) for *_, each in numbered}
            points = tuple(sorted((x, score) for x, score, _ in numbered))
            best = max(points, key=lambda point: goodness(point[1], is_higher))
            found.append(Sensitivity(owner, key, points, best, max(means) - min(means), len(others) == 1))
    return sorted(found, key=lambda one: -one.reach)


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None


def _panel(one: Sensitivity) -> Panel:
    values = [value for value, _ in one.points]
    return Panel(
        items=[
            Points(x=values, y=[score for _, score in one.points], size=5, alpha=0.7),
            Points(x=[one.best[0]], y=[one.best[1]], series=1, sign="D", size=7, alpha=1),
        ],
        title=one.owner,
        x=shorten(one.setting, 40),
        log="x" if min(values) > 0 and max(values) > _WIDE * min(values) else "",
    )
