"""Performance profiles over data sets: what share of a method's runs lies above each score.

Paper
    Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, figure 7.
"""

from typing import TYPE_CHECKING

from fairground.comparison.over_datasets import OverDatasets
from fairground.reporting.drawing import Draw, legend_below, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import count, factor_of
from fairground.reporting.headings import heading, unit
from fairground.reporting.palette import Palette, dash_of, series_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: the shares at which the numbers below the figure are read
_SHARES = (0.75, 0.5, 0.25)


def figure_over(found: OverDatasets, *, metric: str) -> ReportFigure:
    """Return the profiles of all methods, every data set counting alike."""
    axis = f"{heading(metric)}{unit(metric)}"
    factor = factor_of(metric)
    scores = [factor * score for score in found.scores]
    return ReportFigure(
        name="performance_profiles",
        title="Performance profiles",
        sentence=(
            f"The share of runs above each score, over {count(len(found.datasets), 'data set')} that count alike. A "
            "curve that lies above another everywhere is of a method that is better at every level of difficulty."
        ),
        draw=lambda is_narrow: _drawn(found, scores, axis, is_narrow),
        height=3.8,
        narrow_height=3.8,
        columns=("method", *(f"score above which {100 * share:g} % lie" for share in _SHARES)),
        numbers=tuple(
            (one.name, *(f"{_reached(one.profile, scores, share):.2f}" for share in _SHARES))
            for one in found.aggregates
        ),
    )


def _reached(profile: tuple[float, ...], scores: list[float], share: float) -> float:
    """Return the highest score that at least this share of runs lies above."""
    return max((score for score, above in zip(scores, profile, strict=True) if above >= share), default=scores[0])


def _drawn(found: OverDatasets, scores: list[float], axis: str, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        plain_axes(axes, palette)
        for index, one in enumerate(found.aggregates):
            series = series_of(index)
            shares = [100 * share for share in one.profile]
            axes.plot(scores, shares, color=palette.colour(series), linewidth=2, linestyle=dash_of(series))
        axes.set_xlabel(axis, color=palette.soft)
        axes.set_ylabel("runs above it, %", color=palette.soft)
        axes.set_ylim(0, 103)
        entries = [(one.name, series_of(index)) for index, one in enumerate(found.aggregates)]
        legend_below(figure, entries, palette, is_narrow=is_narrow, lines=True)

    return draw
