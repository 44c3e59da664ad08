"""With and without rho-regularisation: each method beside the same method with switched tuples.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from fairground.reporting.drawing import Bar, Key, Panel, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count
from fairground.reporting.methods import Method

PAGE_ORDER = 20
_WITHOUT, _WITH = 1, 2


def is_regularised(settings: Mapping[str, str]) -> bool:
    """Tell whether a method switches tuples, by its miner or its regulariser."""
    return settings.get("miner") == "rho_distance" or settings.get("regulariser") == "rho"


def is_mixed(settings: Mapping[str, str]) -> bool:
    """Tell whether a method uses manifold mixup."""
    return settings.get("regulariser") == "manifold_mixup"


def is_changed(settings: Mapping[str, str]) -> bool:
    """Tell whether a method is another one with switched tuples or with mixup."""
    return is_regularised(settings) or is_mixed(settings)


def with_bases(
    inputs: FigureInputs, is_meant: Callable[[Mapping[str, str]], bool] = is_changed
) -> list[tuple[Method, Method | None]]:
    """Return each changed method, best first, with the plain one most similar to it; None where its loss has none."""
    plain = [method for method in inputs.methods if not is_changed(inputs.settings(method))]
    found = []
    for method in inputs.methods:
        mine = inputs.settings(method)
        if not is_meant(mine):
            continue

        def agreement(other: Method, mine: Mapping[str, str] = mine) -> int:
            theirs = inputs.settings(other)
            # rho_distance switches what the distance-weighted miner finds.
            is_same_mining = mine.get("miner") == "rho_distance" and theirs.get("miner") == "distance_weighted"
            return sum(theirs.get(key) == value for key, value in mine.items()) + 3 * is_same_mining

        alike = [other for other in plain if inputs.settings(other).get("loss") == mine.get("loss")]
        found.append((method, max(alike, key=agreement, default=None)))
    return found


def pairs_of(inputs: FigureInputs) -> dict[str, tuple[list[float], list[float]]]:
    """Return the scores without and with switched tuples by plain method; of several strengths the best."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for method, base in with_bases(inputs, is_regularised):
        if base is not None and base.label not in found:
            without, with_it = (inputs.scores(one, inputs.habitual) for one in (base, method))
            if without and with_it:
                found[base.label] = (without, with_it)
    return found


def paired_bars(pairs: Sequence[tuple[str, Sequence[Sequence[float]]]], without: int, with_it: int, axis: str) -> Panel:
    """Return a row per name with two bars, means with standard deviations, in the series `without` and `with_it`."""
    bars = [
        Bar(
            row=row + shift,
            value=fmean(values),
            series=series,
            height=0.34,
            alpha=0.75,
            error=stdev(values) if len(values) > 1 else None,
        )
        for row, (_, both) in enumerate(pairs)
        for values, shift, series in zip(both, (-0.19, 0.19), (without, with_it), strict=True)
    ]
    return Panel(items=bars, rows=[name for name, _ in pairs], x=axis)


def ends_of(scores: Sequence[float]) -> tuple[float, ...]:
    """Return every score and the ends of the standard deviation: what the axis must hold."""
    spread = stdev(scores) if len(scores) > 1 else 0.0
    return *scores, fmean(scores) - spread, fmean(scores) + spread


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when some method was run both ways."""
    pairs = pairs_of(inputs)
    if not pairs:
        return None
    axis = axis_of(inputs.habitual)
    every = [scores for pair in pairs.values() for scores in pair]
    n_switched = sum(is_regularised(inputs.settings(method)) for method in inputs.methods)
    best = ", of several strengths the best" if n_switched > len(pairs) else ""
    gain = fmean(fmean(with_it) - fmean(without) for without, with_it in pairs.values())
    ends = [end for scores in every for end in ends_of(scores)]
    # From just below the lowest, as in the paper: the gains are small beside the scores.
    reach = max(ends) - min(ends)
    span = max(0.0, min(ends) - max(0.35 * reach, 0.5)), max(ends) + max(0.1 * reach, 0.2)
    panel = replace(paired_bars(list(pairs.items()), _WITHOUT, _WITH, f"{axis} (axis cut off)"), x_range=span)
    return ReportFigure(
        name="regularised",
        title="With and without \u03c1-regularisation",
        sentence=(
            f"{axis}, mean and standard deviation, of {count(len(pairs), 'method')} without and with switched tuples"
            f"{best} ({count(sum(map(len, every)), 'run')}); mean difference {gain:+.2f}. As in figure 1 of Roth et "
            "al., 2020."
        ),
        draw=panels(
            [panel],
            keys=[Key(text="without", series=_WITHOUT, kind="bar"), Key(text="with", series=_WITH, kind="bar")],
        ),
        height=1.3 + 0.6 * len(pairs),
        columns=("method", "without", "with"),
        numbers=tuple((label, *(f"{fmean(scores):.2f}" for scores in pair)) for label, pair in pairs.items()),
    )
