"""Critical-difference diagram: means over seeds or mean ranks over data sets, with bars over methods not separated.

Over seeds of one data set everything comes from the comparison of the table: bars join neighbours of which none is
better than another, and the critical difference is half the longest interval of a pair. Over data sets, methods are
ranked on each.

Paper
    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006, figure 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairground.comparison.over_datasets import critical_difference
from fairground.reporting.drawing import Palette
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import heading, show, small_p, squeeze, unit
from fairground.reporting.tables import UNFAIR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 10
_MOST = 40


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Methods from best to worst at `places` of an axis from `best` to `worst`, `bars` over those not separated."""

    names: Sequence[str]
    places: Sequence[float]
    shown: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    best: float
    worst: float
    width: float
    width_text: str
    bars: Sequence[Sequence[str]]

    def at(self, place: float) -> float:
        """Return a place as a share of the axis, 0 for the best end."""
        return (place - self.best) / ((self.worst - self.best) or 1.0)

    def draw(self, figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.plot([0, 1], [0, 0], color=palette.ink, linewidth=1.2)
        for place, text in self.ticks:
            axes.plot([self.at(place)] * 2, [0, 0.25], color=palette.ink, linewidth=1)
            axes.text(self.at(place), 0.35, text, ha="center", va="bottom", fontsize=9, color=palette.soft)
        width = min(self.width / (abs(self.worst - self.best) or 1.0), 1.0)
        axes.plot([0, width], [1.5, 1.5], color=palette.ink, linewidth=1.5, marker="|")
        axes.text(0, 1.65, self.width_text, ha="left", va="bottom", fontsize=9, color=palette.ink)
        at = {name: self.at(place) for name, place in zip(self.names, self.places, strict=True)}
        for i, bar in enumerate(self.bars):
            ends = [at[bar[0]] - 0.008, at[bar[-1]] + 0.008]
            axes.plot(ends, [-0.45 - 0.45 * i] * 2, color=palette.series[1], linewidth=4, solid_capstyle="butt")
        # The better half is named on the left, the other on the right.
        k, top = len(self.names), -0.9 - 0.45 * len(self.bars)
        reach = max(0.12, 0.6 / max(1, k - 1))
        for i, (name, shown) in enumerate(zip(self.names, self.shown, strict=True)):
            is_left = i < -(-k // 2)
            y, end = top - (i if is_left else k - 1 - i), (-reach if is_left else 1 + reach)
            axes.plot([at[name]] * 2 + [end], [0, y, y], color=palette.soft, linewidth=1)
            axes.annotate(
                f"{squeeze(name, 40)}  {shown}",
                (end, y),
                xytext=(-4 if is_left else 4, 0),
                textcoords="offset points",
                ha="right" if is_left else "left",
                va="center",
                fontsize=9,
                color=palette.ink,
            )
        axes.set_ylim(axes.get_ylim()[0] - 0.4, 2.4)


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the diagram of means over the seeds of one data set."""
    metric, table = inputs.metric, inputs.table
    found = table.comparisons.get(metric)
    comparison = None if found is None else found.repeated
    if comparison is None or table.higher_is_better.get(metric) is None or not 3 <= len(comparison.methods) <= _MOST:
        return None
    width = comparison.critical_difference
    if width is None:
        return None
    means = [method.mean for method in comparison.methods]
    ticks = dict.fromkeys(means[0] + (means[-1] - means[0]) * i / 4 for i in range(5))
    diagram = Diagram(
        names=[method.name if table.is_fair else UNFAIR + method.name for method in comparison.methods],
        places=means,
        shown=tuple(show(metric, mean) for mean in means),
        ticks=tuple((tick, show(metric, tick)) for tick in ticks),
        best=means[0],
        worst=means[-1],
        width=width,
        width_text=f"critical difference {show(metric, width)}{unit(metric)}",
        bars=comparison.groups if table.is_fair else (),
    )
    joined = "Bars join neighbours of which none is better than another."
    return _figure(
        diagram,
        sentence=(
            f"Mean {heading(metric)} over seeds, best on the left; two methods further apart than the critical "
            f"difference, {show(metric, width)}{unit(metric)}, are separated at {100 * comparison.level:g} %, all "
            f"pairs at once. {joined if diagram.bars else 'Each is separated from every other.'} This holds for seeds "
            "of this data set, not for other data sets."
        ),
        column="mean",
    )


def figure_over(scores: Mapping[str, Sequence[float]], *, metric: str) -> ReportFigure | None:
    """Return the diagram of ranks over data sets, more being better; None for fewer than three methods or two sets."""
    n_blocks = min((len(row) for row in scores.values()), default=0)
    if not 3 <= len(scores) <= _MOST or n_blocks < 2:
        return None
    found = critical_difference(scores)
    k = len(found.names)
    diagram = Diagram(
        names=found.names,
        places=found.mean_ranks,
        shown=tuple(f"{rank:.2f}" for rank in found.mean_ranks),
        ticks=tuple((rank, str(rank)) for rank in range(1, k + 1) if k <= 12 or rank % 5 == 0 or rank == 1),
        best=1,
        worst=k,
        width=found.critical_difference,
        width_text=f"critical difference {found.critical_difference:.2f}",
        bars=found.bars if found.is_different else (),
    )
    verdict = (
        "Bars join methods whose ranks are within it." if found.is_different else "Friedman's test is not significant."
    )
    return _figure(
        diagram,
        sentence=(
            f"Mean rank by {heading(metric)} over {count(n_blocks, 'data set')} as blocks, 1 being best; Friedman "
            f"p {small_p(found.p)}, critical difference {found.critical_difference:.2f}. {verdict}"
        ),
        column="mean rank",
    )


def _figure(diagram: Diagram, *, sentence: str, column: str) -> ReportFigure:
    return ReportFigure(
        name="critical_difference",
        title="Critical-difference diagram",
        sentence=sentence,
        draw=diagram.draw,
        height=1.3 + 0.26 * -(-len(diagram.names) // 2) + 0.12 * len(diagram.bars),
        columns=("method", column),
        numbers=tuple(zip(diagram.names, diagram.shown, strict=True)),
    )
