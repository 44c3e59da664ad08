"""Performance profiles over data sets: the share of a method's runs above each score.

Paper
    Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, figure 7.
"""

from fairground.comparison.over_datasets import OverDatasets
from fairground.reporting.drawing import Key, Line, Panel, panels, series_of
from fairground.reporting.figure import ReportFigure, axis_of, count, factor_of

#: the shares of the numbers below the figure
_SHARES = (0.75, 0.5, 0.25)


def figure_over(found: OverDatasets, *, metric: str) -> ReportFigure:
    """Return the profiles of all methods; every data set has the same weight."""
    scores = [factor_of(metric) * score for score in found.scores]
    lines = [
        Line(x=scores, y=[100 * share for share in one.profile], series=series_of(index))
        for index, one in enumerate(found.aggregates)
    ]
    panel = Panel(items=lines, x=axis_of(metric), y="runs above it, %", y_range=(0, 103))
    keys = [Key(text=one.name, series=series_of(index), kind="line") for index, one in enumerate(found.aggregates)]
    return ReportFigure(
        name="performance_profiles",
        title="Performance profiles",
        sentence=(
            f"The share of runs above each score, over {count(len(found.datasets), 'data set')} with equal weight. A "
            "method whose curve is above another everywhere is better at every level of difficulty."
        ),
        draw=panels([panel], keys=keys),
        height=3.8,
        columns=("method", *(f"score reached by {100 * share:g} % of runs" for share in _SHARES)),
        numbers=tuple(
            (one.name, *(f"{_reached(one.profile, scores, share):.2f}" for share in _SHARES))
            for one in found.aggregates
        ),
    )


def _reached(profile: tuple[float, ...], scores: list[float], share: float) -> float:
    """Return the highest score that at least this share of runs is above."""
    return max((score for score, above in zip(scores, profile, strict=True) if above >= share), default=scores[0])
