"""What settings do: distributions over choices other than the loss, the course of searches, sensitivity to numbers.

Formula
    relative performance of a run = its score / the highest score by the same metric with the same loss,
    over higher-is-better metrics

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figures 2 and 3 (distributions).
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, optimisation plots of its supplementary
    page (traces).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fairground.reporting import Bar, Line, Panel, Points, panels, shorten
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.spec import ROOM_OF, differing, goodness
from fairground.studies.search_analysis import trace

PAGE_ORDER = {"distributions": 30, "traces": 100, "sensitivity": 105}
_MOST_FACTORS, _MOST_LEVELS, _MOST = 6, 8, 8
#: a range this many times wide has a logarithmic axis
_WIDE = 30

Specs = Mapping[str, Mapping[str, str]]


def distributions_of(inputs: FigureInputs) -> dict[str, dict[str, np.ndarray]]:
    """Return, for each factor other than the loss, the relative performances at each of its levels.

    A level holds the methods that differ from another one in this factor alone, everything else being equal.
    """
    flat = {method.key: method.settings for method in inputs.methods}
    relative: dict[str, list[float]] = {key: [] for key in flat}
    for metric in [metric for metric, is_higher in inputs.table.higher_is_better.items() if is_higher]:
        values = [(method, method.values(metric, inputs.table.split)) for method in inputs.methods]
        tops: dict[str, float] = {}
        for method, some in values:
            loss = method.settings.get("loss", "")
            tops[loss] = max([tops.get(loss, 0.0), *some])
        for method, some in values:
            top = tops[method.settings.get("loss", "")]
            relative[method.key] += [100 * value / top for value in some if top > 0]
    found: dict[str, dict[str, list[str]]] = {}
    for factor, keys in _factors(flat.values()).items():
        named = _levels(flat, factor, keys)
        equal: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for key, spec in flat.items():
            own = {name for name in spec if name in keys or name == factor or name.startswith(f"{factor}.")}
            equal.setdefault(tuple((name, spec[name]) for name in spec if name not in own), []).append(key)
        levels: dict[str, list[str]] = {}
        for alike in equal.values():
            if len({named[key] for key in alike}) > 1:
                for key in (key for key in alike if relative[key]):
                    levels.setdefault(named[key], []).append(key)
        if 2 <= len(levels) <= _MOST_LEVELS:
            found[factor] = levels
    names = _study_names(found, inputs.runs.names)
    return {
        factor: {
            names.get(factor, {}).get(level, level): np.concatenate([relative[key] for key in keys])
            for level, keys in levels.items()
        }
        for factor, levels in list(found.items())[:_MOST_FACTORS]
    }


def _factors(specs: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return what varies besides loss and data: a component with all its settings, or one plain setting."""
    found: dict[str, list[str]] = {}
    varying = differing(specs)
    for key in varying:
        # The input size belongs to the network: 227 pixels for GoogLeNet.
        part = "trunk" if key == "transform.side" and "trunk" in varying else key.partition(".")[0]
        if part not in ("loss", "data"):  # other data are another task
            found.setdefault(part if part in ROOM_OF else key, []).append(key)
    # One setting of a component that stays the same is the factor itself: `head.embedding_dim`.
    return {keys[0] if len(keys) == 1 else factor: keys for factor, keys in found.items()}


def _levels(flat: Specs, factor: str, keys: Sequence[str]) -> dict[str, str]:
    """Return each method's level: a component's name and its settings that vary under that name, as SPC-2, 4 and 8."""
    found = {}
    for method, spec in flat.items():
        same = [other for other in flat.values() if other.get(factor) == spec.get(factor)]
        varying = {key for key in keys if len({other.get(key) for other in same}) > 1}
        telling = [key for key in keys if key in spec and (key in varying or not key.startswith(f"{factor}."))]
        texts = [f"{key.partition('.')[2].replace('_', ' ')} {spec[key]}".strip() for key in telling]
        found[method] = spec[telling[0]] if len(telling) == 1 else ", ".join(texts) or "none"
    return found


def _study_names(
    found: Mapping[str, Mapping[str, Sequence[str]]], names: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return the study's names for the levels of a factor: the ends of its methods' names, "Margin, SPC-2".

    Used only where all levels of a factor have one end each, under the same beginnings, that no other factor has.
    """
    ends: dict[str, dict[str, str]] = {}
    for factor, levels in found.items():
        split = {level: [names.get(key, "").rpartition(", ") for key in keys] for level, keys in levels.items()}
        beginnings = {frozenset(start for start, _, _ in parts) for parts in split.values()}
        last = {level: {end for _, comma, end in parts if comma} for level, parts in split.items()}
        if len(beginnings) == 1 and all(len(some) == 1 for some in last.values()):
            ends[factor] = {level: min(some) for level, some in last.items()}
    used = Counter(end for levels in ends.values() for end in levels.values())
    return {factor: levels for factor, levels in ends.items() if all(used[end] == 1 for end in levels.values())}


def distributions(inputs: FigureInputs) -> ReportFigure | None:
    found = distributions_of(inputs)
    if not found:
        return None
    axis = "% of the best" if len(found) > 1 else "% of the best with the same loss"
    drawn = []
    for key, levels in found.items():
        ordered = sorted(levels.items(), key=lambda item: -float(np.median(item[1])))
        items: list[Line | Bar] = []
        for row, (_, values) in enumerate(ordered):
            least, low, middle, high, most = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
            items += [
                Line(x=(least, most), y=(row, row), series="soft", width=1),
                Bar(row=row, value=high, start=low, height=0.5, alpha=0.3),
                Line(x=(middle, middle), y=(row - 0.25, row + 0.25), width=2.5),
            ]
        drawn.append(Panel(items=items, rows=[level for level, _ in ordered], title=key, x=axis))
    n_levels = sum(map(len, found.values()))
    return ReportFigure(
        title="Effect of other choices",
        sentence="Performance relative to the best with the same loss, over all seeds and higher-is-better metrics, by "
        f"{', '.join(shorten(key, 40) for key in found)} ({count(len(inputs.done), 'run')}). Boxes hold the middle "
        "half, the line is the median. As in figures 2 and 3 of Roth et al., 2020.",
        draw=panels(drawn),
        height=max(2.2, 0.9 * -(-len(found) // 2) + 0.38 * n_levels / (2 if len(found) > 1 else 1)),
        columns=("setting", "value", "median", "runs by metrics"),
        rows=[
            (key, level, f"{np.median(values):.1f} %", len(values))
            for key, levels in found.items()
            for level, values in levels.items()
        ],
    )


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
        title="The course of each search",
        sentence=f"{axis} of every finished trial in order, and the best so far: "
        f"{count(sum(n for _, n, *_ in rows), 'trial')} of {count(len(rows), 'method')}. A line still rising at "
        f"the end suggests more trials.{left_out}",
        draw=panels(drawn[:_MOST], y=axis, sharey=True),
        height=0.6 + 2.1 * -(-len(drawn[:_MOST]) // 2),
        columns=("method", "trials", "finished", "best"),
        rows=rows,
    )


class Sensitivity(NamedTuple):
    """A setting of a loss: (value, score) of trials or methods, the best, the range of mean scores of its values.

    `is_alone` says that nothing else differs.
    """

    owner: str
    setting: str
    points: list[tuple[float, float]]
    best: tuple[float, float]
    reach: float
    is_alone: bool


def sensitivities_of(inputs: FigureInputs) -> tuple[list[Sensitivity], bool]:
    """Return every varied number: from the trials of searches, which is said, otherwise from methods of one loss.

    The setting that moves the score most comes first.
    """
    is_higher = inputs.table.higher_is_better.get(inputs.metric) is not False
    rows: dict[str, list[tuple[Mapping[str, object], float]]] = {}
    for label, trial in ((label, trial) for label, trials in inputs.trials.items() for trial in trials):
        if trial.score is not None:
            rows.setdefault(label, []).append((trial.settings, factor_of(inputs.metric) * trial.score))
    searched = _varied(rows, is_higher)
    if searched:
        return searched, True
    rows = {}
    for method in inputs.methods:
        if scores := inputs.scores(method):
            rows.setdefault(method.settings.get("loss", "?"), []).append((method.settings, fmean(scores)))
    return _varied(rows, is_higher), False


def _varied(rows: Mapping[str, Sequence[tuple[Mapping[str, object], float]]], is_higher: bool) -> list[Sensitivity]:
    found = []
    for owner, some in rows.items():
        for key in dict.fromkeys(key for settings, _ in some for key in settings):
            at: dict[float, list[float]] = {}
            others = set()
            for settings, score in some:
                with suppress(ValueError):  # a setting that is not a number
                    at.setdefault(float(str(settings.get(key))), []).append(score)
                    others.add(tuple((name, value) for name, value in settings.items() if name != key))
            if len(at) < 2:
                continue
            means = [fmean(scores) for scores in at.values()]
            points = sorted((x, score) for x, scores in at.items() for score in scores)
            best = max(points, key=lambda point: goodness(point[1], is_higher))
            found.append(Sensitivity(owner, key, points, best, max(means) - min(means), len(others) == 1))
    return sorted(found, key=lambda one: -one.reach)


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
        title="Sensitivity to settings",
        sentence=f"{axis} against each varied number, {what} ({count(n, 'point')}){first}{more}. Diamonds are the best."
        f"{'' if all(one.is_alone for one in found) else caveat}",
        draw=panels(drawn, y=axis),
        height=0.6 + 2.3 * -(-len(drawn) // 2),
    )
