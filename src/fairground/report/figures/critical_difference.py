"""Critical-difference diagram: mean ranks over data sets or seeds, and bars over methods that ranks cannot tell apart.

Paper
    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006, figure 1.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairground.report.drawing import Draw
from fairground.report.figure import ReportFigure
from fairground.report.figure_inputs import FigureInputs, count
from fairground.report.headings import heading, small_p, squeeze
from fairground.report.palette import Palette
from fairground.statistics.ranks import CriticalDifference, critical_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 10
_MOST = 40


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the diagram with the seeds of one data set as blocks."""
    if inputs.table.higher_is_better.get(inputs.metric) is None:
        return None
    values = inputs.table.goodness()
    seeds = [seed for seed in next(iter(values.values()), {}) if all(seed in found for found in values.values())]
    blocks = {label: [found[seed] for seed in seeds] for label, found in values.items()}
    return figure_over(blocks, blocks_are="seed", metric=inputs.metric)


def figure_over(scores: Mapping[str, Sequence[float]], *, blocks_are: str, metric: str) -> ReportFigure | None:
    """Return the diagram of scores by block, more being better; nothing for fewer than three methods or two blocks."""
    n_blocks = min((len(row) for row in scores.values()), default=0)
    if not 3 <= len(scores) <= _MOST or n_blocks < 2:
        return None
    found = critical_difference(scores)
    verdict = (
        "Bars join methods whose ranks lie within it"
        if found.is_different
        else "Friedman's test finds no difference at all"
    )
    caveat = " Seeds of one data set: it says nothing of others." if blocks_are == "seed" else ""
    return ReportFigure(
        name="critical_difference",
        title="Critical-difference diagram",
        sentence=(
            f"Mean rank by {heading(metric)} over {count(n_blocks, blocks_are)} as blocks, 1 being best; Friedman "
            f"p {small_p(found.p)}, critical difference {found.critical_difference:.2f}. {verdict}.{caveat}"
        ),
        draw=lambda is_narrow: _drawn(found, is_narrow),
        height=1.3 + 0.26 * -(-len(scores) // 2) + 0.12 * len(found.bars),
        narrow_height=1.3 + 0.26 * len(scores) + 0.12 * len(found.bars),
        columns=("method", "mean rank"),
        numbers=tuple((name, f"{rank:.2f}") for name, rank in zip(found.names, found.mean_ranks, strict=True)),
    )


def _drawn(found: CriticalDifference, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        axes.set_axis_off()
        k, n_bars = len(found.names), len(found.bars)
        low, high = 1, k
        axes.plot([low, high], [0, 0], color=palette.ink, linewidth=1.2)
        for rank in range(low, high + 1):
            if k <= 12 or rank % 5 == 0 or rank == 1:
                axes.plot([rank, rank], [0, 0.25], color=palette.ink, linewidth=1)
                axes.text(rank, 0.35, str(rank), ha="center", va="bottom", fontsize=9, color=palette.soft)
        width = min(found.critical_difference, high - low)
        axes.plot([low, low + width], [1.5, 1.5], color=palette.ink, linewidth=1.5, marker="|")
        words = f"critical difference {found.critical_difference:.2f}"
        axes.text(low, 1.65, words, va="bottom", fontsize=9, color=palette.ink)
        places = dict(zip(found.names, found.mean_ranks, strict=True))
        for i, bar in enumerate(found.bars if found.is_different else ()):
            ends = [places[bar[0]] - 0.05, places[bar[-1]] + 0.05]
            axes.plot(ends, [-0.45 - 0.45 * i] * 2, color=palette.series[1], linewidth=4, solid_capstyle="butt")
        _name_methods(axes, found, palette, top=-0.9 - 0.45 * n_bars, is_narrow=is_narrow)
        axes.set_ylim(axes.get_ylim()[0] - 0.4, 2.4)

    return draw


def _name_methods(axes: "Axes", found: CriticalDifference, palette: Palette, *, top: float, is_narrow: bool) -> None:
    """Write the better half on the left, the other on the right, joined to their ranks; on a phone all on one side."""
    k = len(found.names)
    half = k if is_narrow else -(-k // 2)
    reach = max(0.6, 0.12 * k)
    for i, (name, rank) in enumerate(zip(found.names, found.mean_ranks, strict=True)):
        is_left = i < half
        line = i if is_left else k - 1 - i
        y, end = top - line, (1 - reach if is_left else k + reach)
        axes.plot([rank, rank, end], [0, y, y], color=palette.soft, linewidth=1)
        text = f"{squeeze(name, 24 if is_narrow else 40)}  {rank:.2f}"
        axes.text(end, y, f" {text} ", ha="right" if is_left else "left", va="center", fontsize=9, color=palette.ink)
