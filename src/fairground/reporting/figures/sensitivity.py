"""How much a setting matters: the score at each value of every varied number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from fairground.reporting.drawing import Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count, factor_of
from fairground.reporting.headings import heading, shorten, unit
from fairground.spec.identity import differing
from fairground.spec.measurement_names import goodness

PAGE_ORDER = 105
_MOST = 8
#: a range this many times wide has a logarithmic axis
_WIDE = 30
_MANY = " Other settings vary too, so this shows where to look, not what causes the difference."


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """One setting of one loss: (value, score) of every trial or method; `is_alone` where nothing else differs."""

    owner: str
    setting: str
    points: tuple[tuple[float, float], ...]
    higher_is_better: bool = True
    is_alone: bool = False

    @property
    def best(self) -> tuple[float, float]:
        """The value with the best score, and that score."""
        return max(self.points, key=lambda point: goodness(point[1], self.higher_is_better))

    @property
    def reach(self) -> float:
        """The range of the mean scores of its values."""
        at: dict[float, list[float]] = {}
        for value, score in self.points:
            at.setdefault(value, []).append(score)
        means = [fmean(scores) for scores in at.values()]
        return max(means) - min(means)

    def panel(self) -> Panel:
        values = [value for value, _ in self.points]
        best = self.best
        return Panel(
            items=[
                Points(x=values, y=[score for _, score in self.points], size=5, alpha=0.7),
                Points(x=[best[0]], y=[best[1]], series=1, sign="D", size=7, alpha=1),
            ],
            title=self.owner,
            x=shorten(self.setting, 40),
            log="x" if min(values) > 0 and max(values) > _WIDE * min(values) else "",
        )


def sensitivities_of(inputs: FigureInputs) -> list[Sensitivity]:
    """Return every varied number: from the trials of searches, otherwise from methods that share a loss."""
    is_higher = inputs.table.higher_is_better.get(inputs.metric) is not False
    found = [replace(one, higher_is_better=is_higher) for one in _of_searches(inputs) or _of_methods(inputs)]
    return sorted(found, key=lambda one: -one.reach)


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when some number was varied."""
    found = sensitivities_of(inputs)
    if not found:
        return None
    shown = found[:_MOST]
    split = "validation" if _of_searches(inputs) else inputs.table.split
    axis = f"{split.capitalize()} {heading(inputs.metric)}{unit(inputs.metric)}"
    what = "one point per trial" if inputs.trials else "one point per method, mean over its seeds"
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
        draw=panels([one.panel() for one in shown], y=axis),
        height=0.6 + 2.3 * -(-len(shown) // 2),
    )


def _of_searches(inputs: FigureInputs) -> list[Sensitivity]:
    factor = factor_of(inputs.metric)
    found = []
    for label, trials in inputs.trials.items():
        done = [(trial.settings, factor * trial.score) for trial in trials if trial.score is not None]
        keys = dict.fromkeys(key for settings, _ in done for key in settings)
        found += [_one(label, key, done) for key in keys]
    return [one for one in found if one is not None]


def _of_methods(inputs: FigureInputs) -> list[Sensitivity]:
    by_loss: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for method in inputs.methods:
        scores, settings = inputs.scores(method), inputs.settings(method)
        if scores:
            by_loss.setdefault(settings.get("loss", "?"), []).append((settings, fmean(scores)))
    found = []
    for loss, rows in by_loss.items():
        for key in differing(settings for settings, _ in rows):
            found.append(_one(loss, key, rows))
    return [one for one in found if one is not None]


def _one(owner: str, key: str, rows: Sequence[tuple[Mapping[str, object], float]]) -> Sensitivity | None:
    numbered = [
        (value, score, settings) for settings, score in rows if (value := _number(settings.get(key))) is not None
    ]
    if len({value for value, *_ in numbered}) < 2:
        return None
    others = {tuple((name, value) for name, value in settings.items() if name != key) for *_, settings in numbered}
    points = tuple(sorted((value, score) for value, score, _ in numbered))
    return Sensitivity(owner=owner, setting=key, points=points, is_alone=len(others) == 1)


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None
