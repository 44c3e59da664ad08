"""The score against how many tuples are switched, one line for each setting of a loss; dashed lines are without.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 7.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from fairground.reporting.drawing import Draw, legend_below, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.figures.regularised import base_of, is_changed, is_regularised
from fairground.reporting.headings import heading, unit
from fairground.reporting.methods import Method
from fairground.reporting.palette import Palette, series_of, sign_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 60


@dataclass(frozen=True, kw_only=True)
class SwitchCurve:
    """Scores of the runs at each p_switch with one loss, and without switching."""

    loss: str
    at: Mapping[float, tuple[float, ...]]
    without: tuple[float, ...]


def switch_curves_of(inputs: FigureInputs) -> list[SwitchCurve]:
    """Return a curve for every loss, with its settings, that was run at two strengths or more.

    It is called as the method without switching that is most like it, where that has a name of its own.
    """
    plain = [method for method in inputs.methods if not is_changed(inputs.settings(method))]
    at: dict[Loss, dict[float, list[float]]] = {}
    bases: dict[Loss, Method | None] = {}
    for method in inputs.methods:
        settings, scores = inputs.settings(method), inputs.scores(method, inputs.habitual)
        if is_regularised(settings):
            loss = _loss(settings)
            key = "miner.p_switch" if settings.get("miner") == "rho_distance" else "regulariser.p_switch"
            at.setdefault(loss, {}).setdefault(_number(settings.get(key)), []).extend(scores)
            bases.setdefault(loss, base_of(inputs, method, plain))
    return [
        SwitchCurve(
            loss=_name(inputs, bases[loss]) or _label(loss, list(at)),
            at={p: tuple(found[p]) for p in sorted(found) if found[p]},
            without=() if (base := bases[loss]) is None else tuple(inputs.scores(base, inputs.habitual)),
        )
        for loss, found in at.items()
        if len(found) > 1
    ]


def _name(inputs: FigureInputs, base: Method | None) -> str:
    """Return the name that a study gives a method; nothing where it has none."""
    return "" if base is None else inputs.runs.names.get(base.key, "")


#: a loss with all its settings
Loss = tuple[tuple[str, str], ...]


def _loss(settings: Mapping[str, str]) -> Loss:
    return tuple((key, value) for key, value in settings.items() if key.partition(".")[0] == "loss")


def _label(loss: Loss, others: list[Loss]) -> str:
    """Return the name of a loss, with the settings that tell it from others of that name."""
    same = [dict(other) for other in others if dict(other).get("loss") == dict(loss).get("loss")]
    apart = [
        f"{key.partition('.')[2].replace('_', ' ')} {value}"
        for key, value in loss
        if any(other.get(key) != value for other in same)
    ]
    return ", ".join([dict(loss).get("loss", "?"), *apart])


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when some loss was run at two strengths."""
    curves = switch_curves_of(inputs)
    if not curves:
        return None
    axis = f"{heading(inputs.habitual)}{unit(inputs.habitual)}"
    n_runs = sum(len(values) for curve in curves for values in (*curve.at.values(), curve.without))
    return ReportFigure(
        name="p_switch",
        title="How many tuples to switch",
        sentence=(
            f"{axis} against p_switch, mean over seeds with every run as a dot ({count(n_runs, 'run')}); dashed lines "
            "are without switching. As figure 7 of Roth et al., 2020."
        ),
        draw=lambda is_narrow: _drawn(curves, axis, is_narrow),
        height=3.8,
        narrow_height=3.6,
        columns=("loss", "p_switch", "mean", "runs"),
        numbers=tuple(
            (curve.loss, f"{p:g}", f"{fmean(values):.2f}", str(len(values)))
            for curve in curves
            for p, values in curve.at.items()
        ),
    )


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _drawn(curves: list[SwitchCurve], axis: str, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        plain_axes(axes, palette)
        for index, curve in enumerate(curves):
            series = series_of(index)
            colour = palette.colour(series)
            for p, values in curve.at.items():
                axes.plot([p] * len(values), values, "o", color=colour, markersize=4, alpha=0.4, markeredgewidth=0)
            means = [fmean(values) for values in curve.at.values()]
            axes.plot(list(curve.at), means, color=colour, linewidth=2, marker=sign_of(series), markersize=6)
            if curve.without:
                axes.axhline(fmean(curve.without), color=colour, linewidth=1.4, linestyle=(0, (4, 3)))
        axes.set_xlabel("p_switch", color=palette.soft)
        axes.set_ylabel(axis, color=palette.soft)
        entries = [(curve.loss, series_of(index)) for index, curve in enumerate(curves)]
        legend_below(figure, entries, palette, is_narrow=is_narrow, lines=False)

    return draw
