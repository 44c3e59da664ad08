"""With and without rho-regularisation: each method beside the same method with switched tuples.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from fairground.reporting.drawing import Bar, Key, Panel, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import heading, unit
from fairground.reporting.methods import Method

PAGE_ORDER = 20
_WITHOUT, _WITH = 1, 2


@dataclass(frozen=True, kw_only=True)
class RegularisedPair:
    """One method's scores without and with the regularisation."""

    label: str
    without: tuple[float, ...]
    regularised: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, ...]:
        """Every score, and the ends of both standard deviations: what the axis must hold."""
        spans = [(fmean(values), stdev(values)) for values in (self.without, self.regularised) if len(values) > 1]
        return *self.without, *self.regularised, *(mean + side * sd for mean, sd in spans for side in (-1, 1))


def is_regularised(settings: Mapping[str, str]) -> bool:
    """Tell whether a method switches tuples, by its miner or its regulariser."""
    return settings.get("miner") == "rho_distance" or settings.get("regulariser") == "rho"


def is_mixed(settings: Mapping[str, str]) -> bool:
    """Tell whether a method uses manifold mixup."""
    return settings.get("regulariser") == "manifold_mixup"


def is_changed(settings: Mapping[str, str]) -> bool:
    """Tell whether a method is another one with switched tuples or with mixup."""
    return is_regularised(settings) or is_mixed(settings)


def base_of(inputs: FigureInputs, method: Method, plain: Sequence[Method]) -> Method | None:
    """Return the plain method most similar to a regularised one; None where its loss was not run without."""
    mine = inputs.settings(method)
    alike = [other for other in plain if inputs.settings(other).get("loss") == mine.get("loss")]

    def agreement(other: Method) -> int:
        theirs = inputs.settings(other)
        # rho_distance switches what the distance-weighted miner finds.
        is_same_mining = mine.get("miner") == "rho_distance" and theirs.get("miner") == "distance_weighted"
        return sum(theirs.get(key) == value for key, value in mine.items()) + 3 * is_same_mining

    return max(alike, key=agreement, default=None)


def pairs_of(inputs: FigureInputs) -> list[RegularisedPair]:
    """Return each regularised method with its most similar plain one; of several strengths the best."""
    plain = [method for method in inputs.methods if not is_changed(inputs.settings(method))]
    found: dict[str, RegularisedPair] = {}
    for method in inputs.methods:  # best first
        if not is_regularised(inputs.settings(method)):
            continue
        base = base_of(inputs, method, plain)
        if base is not None and base.key not in found:
            without, with_it = (tuple(inputs.scores(one, inputs.habitual)) for one in (base, method))
            if without and with_it:
                found[base.key] = RegularisedPair(label=base.label, without=without, regularised=with_it)
    return list(found.values())


def paired_bars(
    pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]], without: int, with_it: int, axis: str
) -> Panel:
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
        for row, both in enumerate(pairs.values())
        for values, shift, series in zip(both, (-0.19, 0.19), (without, with_it), strict=True)
    ]
    return Panel(items=bars, rows=list(pairs), x=axis)


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when some method was run both ways."""
    pairs = pairs_of(inputs)
    if not pairs:
        return None
    axis = f"{heading(inputs.habitual)}{unit(inputs.habitual)}"
    n_runs = sum(len(pair.without) + len(pair.regularised) for pair in pairs)
    n_switched = sum(is_regularised(inputs.settings(method)) for method in inputs.methods)
    best = ", of several strengths the best" if n_switched > len(pairs) else ""
    gains = [fmean(pair.regularised) - fmean(pair.without) for pair in pairs]
    every = [value for pair in pairs for value in pair.ends]
    # From just below the lowest, as in the paper: the gains are small beside the scores.
    reach = max(every) - min(every)
    span = max(0.0, min(every) - max(0.35 * reach, 0.5)), max(every) + max(0.1 * reach, 0.2)
    panel = paired_bars(
        {pair.label: (pair.without, pair.regularised) for pair in pairs}, _WITHOUT, _WITH, f"{axis} (axis cut off)"
    )
    return ReportFigure(
        name="regularised",
        title="With and without \u03c1-regularisation",
        sentence=(
            f"{axis}, mean and standard deviation, of {count(len(pairs), 'method')} without and with switched tuples"
            f"{best} ({count(n_runs, 'run')}); mean difference {fmean(gains):+.2f}. As in figure 1 of Roth et al., "
            "2020."
        ),
        draw=panels(
            [replace(panel, x_range=span)],
            keys=[Key(text="without", series=_WITHOUT, kind="bar"), Key(text="with", series=_WITH, kind="bar")],
        ),
        height=1.3 + 0.6 * len(pairs),
        columns=("method", "without", "with"),
        numbers=tuple((p.label, f"{fmean(p.without):.2f}", f"{fmean(p.regularised):.2f}") for p in pairs),
    )
