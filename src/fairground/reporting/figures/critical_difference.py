"""Critical-difference diagram: means over seeds or mean ranks over data sets, with bars over methods not separated.

Over seeds of one data set everything is read from the comparison of the table: bars join neighbours of which none is
better than another, and the critical difference is half the longest interval of a pair. Over data sets, methods are
ranked on each.

Paper
    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006, figure 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairground.comparison.comparison_result import Comparison
from fairground.comparison.mean_ranks import CriticalDifference, critical_difference
from fairground.reporting.drawing import Draw
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.headings import heading, show, small_p, squeeze, unit
from fairground.reporting.palette import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 10
_MOST = 40


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """What is drawn: methods from best to worst at `places` of an axis, `bars` over those not separated.

    `ticks` are places with their words; `best` and `worst` are the ends of the axis, the best on the left.
    """

    names: tuple[str, ...]
    places: tuple[float, ...]
    shown: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    best: float
    worst: float
    width: float
    words: str
    bars: tuple[tuple[str, ...], ...]

    @property
    def length(self) -> float:
        """How long the axis is."""
        return abs(self.worst - self.best) or 1.0

    def at(self, place: float) -> float:
        """Return a place as a share of the axis, 0 for the best end."""
        return (place - self.best) / ((self.worst - self.best) or 1.0)


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
    diagram = _of_means(comparison, metric, width)
    at_level = f"{100 * comparison.level:g} %"
    return _figure(
        diagram,
        sentence=(
            f"Mean {heading(metric)} over seeds, best on the left; two methods further apart than the critical "
            f"difference, {show(metric, width)}{unit(metric)}, are separated at {at_level}, all pairs at once. "
            f"{_bars_in_words(diagram)} Seeds of one data set: it says nothing of others."
        ),
        column="mean",
    )


def figure_over(scores: Mapping[str, Sequence[float]], *, metric: str) -> ReportFigure | None:
    """Return the diagram of ranks over data sets, more being better; None for fewer than three methods or two sets."""
    n_blocks = min((len(row) for row in scores.values()), default=0)
    if not 3 <= len(scores) <= _MOST or n_blocks < 2:
        return None
    found = critical_difference(scores)
    verdict = (
        "Bars join methods whose ranks lie within it."
        if found.is_different
        else "Friedman's test finds no difference at all."
    )
    return _figure(
        _of_ranks(found),
        sentence=(
            f"Mean rank by {heading(metric)} over {count(n_blocks, 'data set')} as blocks, 1 being best; Friedman "
            f"p {small_p(found.p)}, critical difference {found.critical_difference:.2f}. {verdict}"
        ),
        column="mean rank",
    )


def _of_means(comparison: Comparison, metric: str, width: float) -> Diagram:
    means = [method.mean for method in comparison.methods]
    steps = [means[0] + (means[-1] - means[0]) * i / 4 for i in range(5)]
    return Diagram(
        names=tuple(method.name for method in comparison.methods),
        places=tuple(means),
        shown=tuple(show(metric, mean) for mean in means),
        ticks=tuple((step, show(metric, step)) for step in dict.fromkeys(steps)),
        best=means[0],
        worst=means[-1],
        width=width,
        words=f"critical difference {show(metric, width)}{unit(metric)}",
        bars=comparison.groups,
    )


def _of_ranks(found: CriticalDifference) -> Diagram:
    k = len(found.names)
    return Diagram(
        names=found.names,
        places=found.mean_ranks,
        shown=tuple(f"{rank:.2f}" for rank in found.mean_ranks),
        ticks=tuple((rank, str(rank)) for rank in range(1, k + 1) if k <= 12 or rank % 5 == 0 or rank == 1),
        best=1,
        worst=k,
        width=found.critical_difference,
        words=f"critical difference {found.critical_difference:.2f}",
        bars=found.bars if found.is_different else (),
    )


def _bars_in_words(diagram: Diagram) -> str:
    if not diagram.bars:
        return "Each is separated from every other."
    return "Bars join neighbours of which none is better than another."


def _figure(diagram: Diagram, *, sentence: str, column: str) -> ReportFigure:
    k, n_bars = len(diagram.names), len(diagram.bars)
    return ReportFigure(
        name="critical_difference",
        title="Critical-difference diagram",
        sentence=sentence,
        draw=lambda is_narrow: _drawn(diagram, is_narrow),
        height=1.3 + 0.26 * -(-k // 2) + 0.12 * n_bars,
        narrow_height=1.3 + 0.26 * k + 0.12 * n_bars,
        columns=("method", column),
        numbers=tuple(zip(diagram.names, diagram.shown, strict=True)),
    )


def _drawn(found: Diagram, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.plot([0, 1], [0, 0], color=palette.ink, linewidth=1.2)
        # A phone has room for the ends alone.
        for place, words in (found.ticks[0], found.ticks[-1]) if is_narrow else found.ticks:
            axes.plot([found.at(place)] * 2, [0, 0.25], color=palette.ink, linewidth=1)
            axes.text(found.at(place), 0.35, words, ha="center", va="bottom", fontsize=9, color=palette.soft)
        width = min(found.width / found.length, 1.0)
        axes.plot([0, width], [1.5, 1.5], color=palette.ink, linewidth=1.5, marker="|")
        end, side = (1.0, "right") if is_narrow else (0.0, "left")
        axes.text(end, 1.65, found.words, ha=side, va="bottom", fontsize=9, color=palette.ink)
        at = {name: found.at(place) for name, place in zip(found.names, found.places, strict=True)}
        for i, bar in enumerate(found.bars):
            ends = [at[bar[0]] - 0.008, at[bar[-1]] + 0.008]
            axes.plot(ends, [-0.45 - 0.45 * i] * 2, color=palette.series[1], linewidth=4, solid_capstyle="butt")
        _name_methods(axes, found, palette, top=-0.9 - 0.45 * len(found.bars), is_narrow=is_narrow)
        axes.set_ylim(axes.get_ylim()[0] - 0.4, 2.4)

    return draw


def _name_methods(axes: "Axes", found: Diagram, palette: Palette, *, top: float, is_narrow: bool) -> None:
    """Write the better half on the left, the other on the right, joined to the axis; on a phone all on one side."""
    k = len(found.names)
    half = k if is_narrow else -(-k // 2)
    reach = max(0.12, 0.6 / max(1, k - 1))
    for i, (name, place, shown) in enumerate(zip(found.names, found.places, found.shown, strict=True)):
        is_left = i < half
        line = i if is_left else k - 1 - i
        y, end = top - line, (-reach if is_left else 1 + reach)
        axes.plot([found.at(place)] * 2 + [end], [0, y, y], color=palette.soft, linewidth=1)
        text = f"{squeeze(name, 24 if is_narrow else 40)}  {shown}"
        axes.annotate(
            text,
            (end, y),
            xytext=(-4 if is_left else 4, 0),
            textcoords="offset points",
            ha="right" if is_left else "left",
            va="center",
            fontsize=9,
            color=palette.ink,
        )
