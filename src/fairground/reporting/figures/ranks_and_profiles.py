"""Critical-difference diagrams and performance profiles.

A diagram has the means over seeds of one data set or the mean ranks over data sets, with bars over methods not
separated. Over seeds everything comes from the comparison of the table: bars join neighbours of which none is better
than another, and the critical difference is half the longest interval of a pair. Over data sets, methods are ranked on
each.

Paper
    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006, figure 1 (diagram).
    Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, figure 7
    (profiles: the share of a method's runs above each score).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairground.comparison import over_datasets
from fairground.reporting.drawing import Key, Line, Palette, Panel, panels, series_of, write
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.reporting.headings import heading, show, small_p, squeeze, unit
from fairground.reporting.tables import UNFAIR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = {"critical_difference": 10}
_MOST = 40
#: the shares of the numbers below the profiles
_SHARES = (0.75, 0.5, 0.25)


def _diagram(
    shown: Mapping[str, tuple[float, str]],
    *,
    ticks: Mapping[float, str],
    axis: tuple[float, float],
    width: tuple[float, str],
    bars: Sequence[Sequence[str]],
    sentence: str,
    column: str,
) -> ReportFigure:
    """Return methods from best to worst, each at its place with its text, on an `axis` from best to worst.

    `width` is the critical difference and its text; `bars` are over methods that are not separated.
    """
    (best, worst), k = axis, len(shown)
    spots = {name: (place - best) / ((worst - best) or 1.0) for name, (place, _) in shown.items()}

    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.plot([0, 1], [0, 0], color=palette["ink"], linewidth=1.2)
        for place, text in ticks.items():
            at = (place - best) / ((worst - best) or 1.0)
            axes.plot([at] * 2, [0, 0.25], color=palette["ink"], linewidth=1)
            axes.text(at, 0.35, text, ha="center", va="bottom", fontsize=9, color=palette["soft"])
        length = min(width[0] / (abs(worst - best) or 1.0), 1.0)
        axes.plot([0, length], [1.5, 1.5], color=palette["ink"], linewidth=1.5, marker="|")
        axes.text(0, 1.65, width[1], ha="left", va="bottom", fontsize=9, color=palette["ink"])
        for i, bar in enumerate(bars):
            ends = [spots[bar[0]] - 0.008, spots[bar[-1]] + 0.008]
            axes.plot(ends, [-0.45 - 0.45 * i] * 2, color=palette["series-1"], linewidth=4, solid_capstyle="butt")
        # The better half is named on the left, the other on the right.
        top, reach = -0.9 - 0.45 * len(bars), max(0.12, 0.6 / max(1, k - 1))
        for i, (name, (_, text)) in enumerate(shown.items()):
            is_left = i < -(-k // 2)
            y, end = top - (i if is_left else k - 1 - i), (-reach if is_left else 1 + reach)
            axes.plot([spots[name]] * 2 + [end], [0, y, y], color=palette["soft"], linewidth=1)
            write(axes, f"{squeeze(name, 40)}  {text}", (end, y), (-4 if is_left else 4, 0), palette["ink"])
        axes.set_ylim(axes.get_ylim()[0] - 0.4, 2.4)

    return ReportFigure(
        name="critical_difference",
        title="Critical-difference diagram",
        sentence=sentence,
        draw=draw,
        height=1.3 + 0.26 * -(-k // 2) + 0.12 * len(bars),
        columns=("method", column),
        rows=[(name, text) for name, (_, text) in shown.items()],
    )


def critical_difference(inputs: FigureInputs) -> ReportFigure | None:
    metric, table = inputs.metric, inputs.table
    found = table.comparisons.get(metric)
    comparison = None if found is None else found.repeated
    if comparison is None or table.higher_is_better.get(metric) is None or not 3 <= len(comparison.methods) <= _MOST:
        return None
    width = comparison.critical_difference
    if width is None:
        return None
    means = [method.mean for method in comparison.methods]
    ticks = [means[0] + (means[-1] - means[0]) * i / 4 for i in range(5)]
    shown_width = f"{show(metric, width)}{unit(metric)}"
    bars = comparison.groups if table.is_fair else ()
    joined = "Bars join neighbours of which none is better than another."
    unfair = "" if table.is_fair else UNFAIR
    return _diagram(
        {unfair + method.name: (method.mean, show(metric, method.mean)) for method in comparison.methods},
        ticks={tick: show(metric, tick) for tick in ticks},
        axis=(means[0], means[-1]),
        width=(width, f"critical difference {shown_width}"),
        bars=bars,
        column="mean",
        sentence=f"Mean {heading(metric)} over seeds, best on the left; two methods further apart than the critical "
        f"difference, {shown_width}, are separated at {100 * comparison.level:g} %, all pairs at once. "
        f"{joined if bars else 'Each is separated from every other.'} This holds for seeds of this data set, not for "
        "other data sets.",
    )


def ranks_over_datasets(scores: Mapping[str, Sequence[float]], *, metric: str) -> ReportFigure | None:
    """Return the diagram of ranks over data sets, more being better; None for fewer than three methods or two sets."""
    n_blocks = min((len(row) for row in scores.values()), default=0)
    if not 3 <= len(scores) <= _MOST or n_blocks < 2:
        return None
    found = over_datasets.critical_difference(scores)
    k, width = len(found.names), f"critical difference {found.critical_difference:.2f}"
    verdict = (
        "Bars join methods whose ranks are within it." if found.is_different else "Friedman's test is not significant."
    )
    return _diagram(
        {name: (rank, f"{rank:.2f}") for name, rank in zip(found.names, found.mean_ranks, strict=True)},
        ticks={rank: str(rank) for rank in range(1, k + 1) if k <= 12 or rank % 5 == 0 or rank == 1},
        axis=(1, k),
        width=(found.critical_difference, width),
        bars=found.bars if found.is_different else (),
        column="mean rank",
        sentence=f"Mean rank by {heading(metric)} over {count(n_blocks, 'data set')} as blocks, 1 being best; Friedman "
        f"p {small_p(found.p)}, {width}. {verdict}",
    )


def performance_profiles(found: over_datasets.OverDatasets, *, metric: str) -> ReportFigure:
    scores = [factor_of(metric) * score for score in found.scores]
    ranked = [(one.name, one.profile, series_of(index)) for index, one in enumerate(found.aggregates)]
    lines = [Line(x=scores, y=[100 * share for share in profile], series=series) for _, profile, series in ranked]
    panel = Panel(items=lines, x=axis_of(metric), y="runs above it, %", y_range=(0, 103))

    def reached(profile: Sequence[float], share: float) -> float:
        """Return the highest score that at least this share of runs is above."""
        return max((score for score, above in zip(scores, profile, strict=True) if above >= share), default=scores[0])

    return ReportFigure(
        name="performance_profiles",
        title="Performance profiles",
        sentence=f"The share of runs above each score, over {count(len(found.datasets), 'data set')} with equal "
        "weight. A method whose curve is above another everywhere is better at every level of difficulty.",
        draw=panels([panel], keys=[Key(text=name, series=series, kind="line") for name, _, series in ranked]),
        height=3.8,
        columns=("method", *(f"score reached by {100 * share:g} % of runs" for share in _SHARES)),
        rows=[(name, *(reached(profile, share) for share in _SHARES)) for name, profile, _ in ranked],
    )
