"""Searches: the course of each, the score against each setting with slices of a model, and contours over two settings.

Formula
    model   Gaussian process with a Matern kernel, k(r) = (1 + s + s^2 / 3) exp(-s), s = sqrt(5) r / length, on settings
            brought to [0, 1], in logarithms where they span more than 30 times the least; length and noise by the
            marginal likelihood on a grid, the height in closed form
    slice   the model along one setting, all others as in the best trial, with two standard deviations
    contour the model over the two settings that move it most, all others as in the best trial

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, optimisation plots of its supplementary
    page: the course of a search, slices and contours.

Departures from the paper
    One length for all settings, within the range that was tried; settings that are not numbers are left out.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fairground import studies
from fairground.records import grouped
from fairground.reporting import FigureInputs, ReportFigure, axis_of, count, factor_of, shorten
from fairground.reporting.drawing import Contours, Line, Panel, Points, panels
from fairground.spec import goodness

PAGE_ORDER = {"traces": 100, "sensitivity": 105, "contours": 106}
_MOST = 8
#: a range this many times wide has a logarithmic axis
_WIDE = 30
#: a model of fewer trials says nothing
LEAST_TRIALS = 5
#: places at which a model is drawn
_PLACES = 41

#: settings and score of each trial or method
Scored = Sequence[tuple[Mapping[str, object], float]]


def traces(inputs: FigureInputs) -> ReportFigure | None:
    axis, factor = f"Validation {axis_of(inputs.metric)}", factor_of(inputs.metric)
    drawn: list[Panel] = []
    rows = []
    for label, points in ((label, studies.trace(trials)) for label, trials in inputs.trials.items()):
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


class Surface:
    """The model of scores over numbers that vary; `best` is the place of the best trial on the unit cube."""

    def __init__(self, numbers: Mapping[str, np.ndarray], scores: np.ndarray, *, is_higher: bool) -> None:
        self.keys, columns = list(numbers), np.stack(list(numbers.values()), axis=1)
        self.is_log = (columns.min(0) > 0) & (columns.max(0) > _WIDE * np.abs(columns.min(0)))
        scaled = np.where(self.is_log, np.log(np.where(self.is_log, columns, 1.0)), columns)
        self.ends = np.stack([scaled.min(0), scaled.max(0)])
        self.points = (scaled - self.ends[0]) / (self.ends[1] - self.ends[0])
        self.scores, apart = scores, scores - scores.mean()
        fits = []
        for length in np.geomspace(0.1, 3.0, 12):
            kernel = _matern(self.points, self.points, length)
            for noise in (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0):
                factor = np.linalg.cholesky(kernel + noise * np.eye(len(apart)))
                weights = np.linalg.solve(factor.T, np.linalg.solve(factor, apart))
                height = max(float(apart @ weights) / len(apart), 1e-300)
                likelihood = -0.5 * len(apart) * np.log(height) - np.log(np.diag(factor)).sum()
                fits.append((likelihood, float(length), height, factor, weights))
        _, self.length, self.height, self.factor, self.weights = max(fits, key=lambda fit: fit[0])
        self.best = self.points[int(np.argmax(scores if is_higher else -scores))]

    def at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation at points of the unit cube."""
        kernel = _matern(points, self.points, self.length)
        spread = np.linalg.solve(self.factor, kernel.T)
        variance = self.height * np.maximum(1 - np.einsum("ij,ij->j", spread, spread), 0)
        return self.scores.mean() + kernel @ self.weights, np.sqrt(variance)

    def line(self, column: int) -> tuple[list[float], np.ndarray, np.ndarray]:
        """Return the places along one setting, as the setting has them, with mean and deviation there."""
        along = np.linspace(0, 1, _PLACES)
        points = np.repeat(self.best[None], _PLACES, axis=0)
        points[:, column] = along
        return self.given(column, along), *self.at(points)

    def given(self, column: int, along: np.ndarray) -> list[float]:
        """Return places of the unit interval as the setting has them."""
        low, high = self.ends[:, column]
        places = low + along * (high - low)
        return list((np.exp(places) if self.is_log[column] else places).tolist())


def _matern(one: np.ndarray, other: np.ndarray, length: float) -> np.ndarray:
    apart = np.sqrt(5) * np.sqrt(((one[:, None] - other[None]) ** 2).sum(-1)) / length
    return np.asarray((1 + apart + apart**2 / 3) * np.exp(-apart))


class Sensitivity(NamedTuple):
    """A setting: (value, score) of trials or methods, the best, the range of means, whether nothing else differs."""

    owner: str
    setting: str
    points: list[tuple[float, float]]
    best: tuple[float, float]
    reach: float
    is_alone: bool


def sensitivities_of(inputs: FigureInputs) -> tuple[list[Sensitivity], bool]:
    """Return every varied number, what moves the score most first, and whether they are of searches or of methods."""
    is_higher = inputs.table.higher_is_better.get(inputs.metric) is not False
    searched = _varied(_scored_trials(inputs), is_higher)
    if searched:
        return searched, True
    scored = [(method.settings, scores) for method in inputs.methods if (scores := inputs.scores(method))]
    rows = grouped((settings.get("loss", "?"), (settings, fmean(scores))) for settings, scores in scored)
    return _varied(rows, is_higher), False


def _scored_trials(inputs: FigureInputs) -> dict[str, Scored]:
    found = {
        label: [(trial.settings, factor_of(inputs.metric) * trial.score) for trial in trials if trial.score is not None]
        for label, trials in inputs.trials.items()
    }
    return {label: some for label, some in found.items() if some}


def _varied(rows: Mapping[str, Scored], is_higher: bool) -> list[Sensitivity]:
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
    # A study of factors says what each of them does, all else being equal.
    if not found or (inputs.kind == "factor" and not is_search):
        return None
    drawn = []
    surfaces = surfaces_of(inputs) if is_search else {}
    for owner, setting, points, best, *_ in found[:_MOST]:
        x, y = zip(*points, strict=True)
        dots: list[Line | Points] = [
            Points(x=x, y=y, size=5, alpha=0.7),
            Points(x=best[:1], y=best[1:], series=1, sign="D", size=7, alpha=1),
        ]
        if owner in surfaces:
            along, mean, spread = surfaces[owner].line(surfaces[owner].keys.index(setting))
            low, high = ((mean + sign * spread).tolist() for sign in (-2, 2))
            dots.insert(0, Line(x=along, y=mean.tolist(), series="soft", width=1.4, low=low, high=high))
        is_wide = min(x) > 0 and max(x) > _WIDE * min(x)
        drawn.append(Panel(items=dots, title=owner, x=shorten(setting, 40), log="x" if is_wide else ""))
    axis = f"{'Validation' if is_search else inputs.table.split.capitalize()} {axis_of(inputs.metric)}"
    what = "one point per trial" if is_search else "one point per method that sets it, mean over its seeds"
    first = ", the one that moves it most first" if len(found) > 1 else ""
    more = f"; {len(found) - _MOST} more are not drawn" if len(found) > _MOST else ""
    caveat = " Other settings vary too, so this shows where to look, not what causes the difference."
    n_trials = sum(map(len, _scored_trials(inputs).values()))
    of = count(n_trials, "trial") if is_search else count(len(inputs.methods), "method")
    slices = (
        " Lines are slices of a model of the trials, all other settings as in the best, with two standard deviations."
    )
    return ReportFigure(
        title="Sensitivity to settings",
        sentence=f"{axis} against each varied number, {what} ({of}){first}{more}. Diamonds are the best."
        f"{slices if surfaces else ''}{'' if all(one.is_alone for one in found) else caveat}",
        draw=panels(drawn, y=axis),
        height=0.6 + 2.3 * -(-len(drawn) // 2),
    )


def surfaces_of(inputs: FigureInputs) -> dict[str, Surface]:
    """Return the model of each search; too few trials, or where no number varies, have none."""
    is_higher = inputs.table.higher_is_better.get(inputs.metric) is not False
    found = {}
    for label, some in _scored_trials(inputs).items():
        numbers: dict[str, np.ndarray] = {}
        for key in dict.fromkeys(key for settings, _ in some for key in settings):
            with suppress(ValueError):  # a setting that is not a number
                column = np.array([float(str(settings.get(key))) for settings, _ in some])
                if np.ptp(column) > 0:
                    numbers[key] = column
        if len(some) >= LEAST_TRIALS and numbers:
            found[label] = Surface(numbers, np.array([score for _, score in some]), is_higher=is_higher)
    return found


def contours(inputs: FigureInputs) -> ReportFigure | None:
    found = {label: one for label, one in surfaces_of(inputs).items() if len(one.keys) > 1}
    if not found:
        return None
    drawn = []
    for label, surface in list(found.items())[:_MOST]:
        reach = [-np.ptp(surface.line(column)[1]) for column in range(len(surface.keys))]
        i, j = np.argsort(reach, kind="stable")[:2].tolist()
        along = np.linspace(0, 1, _PLACES)
        points = np.repeat(surface.best[None], _PLACES**2, axis=0)
        points[:, i], points[:, j] = np.tile(along, _PLACES), np.repeat(along, _PLACES)
        heights = surface.at(points)[0].reshape(_PLACES, _PLACES).tolist()
        (tried_x, tried_y), (best_x, best_y) = (
            (surface.given(i, some[:, i]), surface.given(j, some[:, j]))
            for some in (surface.points, surface.best[None])
        )
        items: list[Contours | Points] = [
            Contours(x=surface.given(i, along), y=surface.given(j, along), heights=heights),
            Points(x=tried_x, y=tried_y, series="ink", sign="o", size=3.5, alpha=0.8),
            Points(x=best_x, y=best_y, series=1, sign="D", size=7, alpha=1),
        ]
        x, y = (shorten(surface.keys[column], 40) for column in (i, j))
        log = "".join(letter for letter, column in (("x", i), ("y", j)) if surface.is_log[column])
        drawn.append(Panel(items=items, title=label, x=x, y=y, log=log, margin=0.03))
    more = f" The first {_MOST} are drawn." if len(found) > _MOST else ""
    n = sum(len(one.scores) for one in found.values())
    return ReportFigure(
        title="Contours of the searches",
        sentence=f"Validation {axis_of(inputs.metric)} by a model of {count(n, 'trial')} of "
        f"{count(len(found), 'method')}, over the two settings that move it most, all others as in the best trial; "
        f"dots are trials, diamonds the best. Between trials the model guesses.{more} As on the supplementary page of "
        "Musgrave et al., 2020.",
        draw=panels(drawn),
        height=0.6 + 2.8 * -(-len(drawn) // 2),
    )
