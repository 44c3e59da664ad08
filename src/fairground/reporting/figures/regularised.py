"""With and without rho-regularisation: each method beside the same method whose tuples are switched.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 1.
"""

from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from fairground.reporting.drawing import Draw, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.headings import heading, squeeze, unit
from fairground.reporting.methods import Method
from fairground.reporting.palette import Palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 20


@dataclass(frozen=True, kw_only=True)
class RegularisedPair:
    """One method's scores without and with the regularisation."""

    label: str
    without: tuple[float, ...]
    regularised: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, ...]:
        """Every score, and the ends of both means' standard deviations: what the axis must hold."""
        spans = [(fmean(values), stdev(values)) for values in (self.without, self.regularised) if len(values) > 1]
        return *self.without, *self.regularised, *(mean + side * sd for mean, sd in spans for side in (-1, 1))


def is_regularised(settings: dict[str, str]) -> bool:
    """Tell whether a method switches tuples: by its miner or by its regulariser."""
    return settings.get("miner") == "rho_distance" or settings.get("regulariser") == "rho"


def is_mixed(settings: dict[str, str]) -> bool:
    """Tell whether a method blends samples by manifold mixup."""
    return settings.get("regulariser") == "manifold_mixup"


def is_changed(settings: dict[str, str]) -> bool:
    """Tell whether a method is another one with switched tuples or with mixup."""
    return is_regularised(settings) or is_mixed(settings)


def pairs_of(inputs: FigureInputs) -> list[RegularisedPair]:
    """Return each regularised method with the plain one that is most like it; of several strengths the best."""
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
    return ReportFigure(
        name="regularised",
        title="With and without \u03c1-regularisation",
        sentence=(
            f"{axis}, mean and standard deviation, of {count(len(pairs), 'method')} without and with switched tuples"
            f"{best} ({count(n_runs, 'run')}); mean difference {fmean(gains):+.2f}. As figure 1 of Roth et al., 2020."
        ),
        draw=lambda is_narrow: _drawn(pairs, axis, is_narrow),
        height=1.3 + 0.6 * len(pairs),
        narrow_height=1.5 + 0.75 * len(pairs),
        columns=("method", "without", "with"),
        numbers=tuple((p.label, f"{fmean(p.without):.2f}", f"{fmean(p.regularised):.2f}") for p in pairs),
    )


def base_of(inputs: FigureInputs, method: Method, plain: list[Method]) -> Method | None:
    """Return the plain method that a regularised one is most like; None where its loss was not run without."""
    mine = inputs.settings(method)
    alike = [other for other in plain if inputs.settings(other).get("loss") == mine.get("loss")]

    def agreement(other: Method) -> int:
        theirs = inputs.settings(other)
        # rho_distance mines by distance: the distance-weighted miner is what it switches.
        is_same_mining = mine.get("miner") == "rho_distance" and theirs.get("miner") == "distance_weighted"
        return sum(theirs.get(key) == value for key, value in mine.items()) + 3 * is_same_mining

    return max(alike, key=agreement, default=None)


def _drawn(pairs: list[RegularisedPair], axis: str, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        plain_axes(axes, palette)
        axes.grid(visible=False, axis="y")
        for line, pair in enumerate(pairs):
            for values, shift, series in ((pair.without, -0.19, 1), (pair.regularised, 0.19, 2)):
                colour = palette.series[series]
                spread = stdev(values) if len(values) > 1 else None
                axes.barh(line + shift, fmean(values), 0.34, color=colour, alpha=0.75, linewidth=0)
                if spread is not None:
                    axes.errorbar(fmean(values), line + shift, xerr=spread, color=palette.ink, capsize=3, linewidth=1)
        labels = [squeeze(pair.label, 22 if is_narrow else 44) for pair in pairs]
        axes.set_yticks(range(len(pairs)), labels, color=palette.ink)
        axes.invert_yaxis()
        every = [value for pair in pairs for value in pair.ends]
        # From just below the lowest, as the paper draws it: the gains are small beside the scores.
        reach = max(every) - min(every)
        axes.set_xlim(max(0.0, min(every) - max(0.35 * reach, 0.5)), max(every) + max(0.1 * reach, 0.2))
        axes.set_xlabel(f"{axis} (axis cut off)", color=palette.soft)
        from matplotlib.patches import Patch

        keys = [Patch(color=palette.series[s], alpha=0.75, label=w) for s, w in ((1, "without"), (2, "with"))]
        figure.legend(
            handles=keys, loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=palette.ink
        )

    return draw
