"""The score against the share of switched tuples, one line per setting of a loss; dashed lines are without.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 7.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from fairground.reporting.drawing import DASHED, SOLID, Key, Line, Panel, Points, panels, series_of
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count
from fairground.reporting.figures.regularised import is_regularised, with_bases
from fairground.reporting.methods import Method

PAGE_ORDER = 60
#: a loss with all its settings
Loss = tuple[tuple[str, str], ...]


class SwitchCurve(NamedTuple):
    """Scores of the runs at each p_switch with one loss, and without switching."""

    loss: str
    at: Mapping[float, Sequence[float]]
    without: Sequence[float]


def switch_curves_of(inputs: FigureInputs) -> list[SwitchCurve]:
    """Return one curve per loss, with its settings, that was run at two strengths or more.

    It has the study's name of the most similar method without switching, where there is one.
    """
    at: dict[Loss, dict[float, list[float]]] = {}
    bases: dict[Loss, Method | None] = {}
    for method, base in with_bases(inputs, is_regularised):
        settings = inputs.settings(method)
        loss = tuple((key, value) for key, value in settings.items() if key.partition(".")[0] == "loss")
        owner = "miner" if settings.get("miner") == "rho_distance" else "regulariser"
        p = float(settings.get(f"{owner}.p_switch", "nan"))
        at.setdefault(loss, {}).setdefault(p, []).extend(inputs.scores(method, inputs.habitual))
        bases.setdefault(loss, base)
    return [
        SwitchCurve(
            loss=(base and inputs.runs.names.get(base.key)) or _label(loss, list(at)),
            at={p: found[p] for p in sorted(found) if found[p]},
            without=() if base is None else inputs.scores(base, inputs.habitual),
        )
        for (loss, found), base in zip(at.items(), bases.values(), strict=True)
        if len(found) > 1
    ]


def _label(loss: Loss, others: Sequence[Loss]) -> str:
    """Return the name of a loss, with the settings that differ between losses of that name."""
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
    axis = axis_of(inputs.habitual)
    n_runs = sum(len(values) for curve in curves for values in (*curve.at.values(), curve.without))
    items: list[Line | Points] = []
    for series, curve in ((series_of(rank), curve) for rank, curve in enumerate(curves)):
        ps, means = list(curve.at), [fmean(values) for values in curve.at.values()]
        for p, values in curve.at.items():
            items.append(Points(x=[p] * len(values), y=values, series=series, sign="o", size=4, alpha=0.4))
        items.append(Line(x=ps, y=means, series=series, dash=SOLID))
        items.append(Points(x=ps, y=means, series=series, size=6, alpha=1))
        if curve.without:
            level = fmean(curve.without)
            items.append(Line(x=(min(ps), max(ps)), y=(level, level), series=series, dash=DASHED, width=1.4))
    return ReportFigure(
        name="p_switch",
        title="How many tuples to switch",
        sentence=(
            f"{axis} against p_switch, mean over seeds with every run as a dot ({count(n_runs, 'run')}); dashed lines "
            "are without switching. As in figure 7 of Roth et al., 2020."
        ),
        draw=panels(
            [Panel(items=items, x="p_switch", y=axis)],
            keys=[Key(text=curve.loss, series=series_of(rank)) for rank, curve in enumerate(curves)],
        ),
        height=3.8,
        columns=("loss", "p_switch", "mean", "runs"),
        numbers=tuple(
            (curve.loss, f"{p:g}", f"{fmean(values):.2f}", str(len(values)))
            for curve in curves
            for p, values in curve.at.items()
        ),
    )
