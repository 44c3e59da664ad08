"""How a choice other than the loss moves results: distributions of relative performance over metrics and losses.

Formula
    relative performance of a run = its score / the highest score by the same metric with the same loss,
    over the metrics of which more is better

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figures 2 and 3.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from fairground.report.drawing import Draw, axes_in, plain_axes
from fairground.report.figure import ReportFigure
from fairground.report.figure_inputs import FigureInputs, count
from fairground.report.headings import shorten
from fairground.report.palette import Palette
from fairground.spec.flatten import differing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 30
_MOST_FACTORS, _MOST_LEVELS = 6, 8

Distributions = Mapping[str, Mapping[str, np.ndarray]]


def distributions_of(inputs: FigureInputs) -> Distributions:
    """Return, for each setting that varies with the loss held fixed, the relative performances at each value."""
    methods = inputs.methods
    flat = {method.key: inputs.settings(method) for method in methods}
    relative = _relative(inputs, flat)
    found: dict[str, dict[str, np.ndarray]] = {}
    # Parts before their settings: "miner" says more than "miner.lo".
    for key in sorted(differing(flat.values()), key=lambda key: "." in key):
        if key == "loss" or key.startswith("loss."):
            continue
        levels: dict[str, list[float]] = {}
        for loss in dict.fromkeys(spec.get("loss") for spec in flat.values()):
            inside = [method for method in methods if flat[method.key].get("loss") == loss]
            if len({flat[method.key].get(key) for method in inside}) > 1:
                for method in inside:
                    levels.setdefault(flat[method.key].get(key, "none"), []).extend(relative[method.key])
        if 2 <= len(levels) <= _MOST_LEVELS and not _is_reported(key, found, flat):
            found[key] = {level: np.array(values) for level, values in levels.items() if values}
    return {key: levels for key, levels in list(found.items())[:_MOST_FACTORS] if len(levels) > 1}


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when something other than the loss varies."""
    found = distributions_of(inputs)
    if not found:
        return None
    n_runs = sum(len(method.done) for method in inputs.methods)
    lines = sum(len(levels) for levels in found.values())
    rows = -(-len(found) // 2)
    return ReportFigure(
        name="distributions",
        title="What other choices do",
        sentence=(
            "Performance relative to the best with the same loss, over all seeds and metrics of which more is better, "
            f"by {', '.join(shorten(key, 40) for key in found)} ({count(n_runs, 'run')}). Boxes hold the middle half, "
            "the line is the median. As figures 2 and 3 of Roth et al., 2020."
        ),
        draw=lambda is_narrow: _drawn(found, is_narrow),
        height=max(2.2, 0.9 * rows + 0.38 * lines / (2 if len(found) > 1 else 1)),
        narrow_height=0.9 * len(found) + 0.4 * lines,
        columns=("setting", "value", "median", "runs by metrics"),
        numbers=tuple(
            (key, level, f"{np.median(values):.1f} %", str(len(values)))
            for key, levels in found.items()
            for level, values in levels.items()
        ),
    )


def _is_reported(key: str, found: Iterable[str], flat: Mapping[str, Mapping[str, str]]) -> bool:
    """Tell whether a setting parts the methods as one that is already shown does, and so would say nothing new."""

    def parted(by: str) -> list[int]:
        values = [spec.get(by, "none") for spec in flat.values()]
        return [values.index(value) for value in values]

    return any(parted(key) == parted(other) for other in found)


def _relative(inputs: FigureInputs, flat: Mapping[str, Mapping[str, str]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {method.key: [] for method in inputs.methods}
    for loss in dict.fromkeys(spec.get("loss") for spec in flat.values()):
        inside = [method for method in inputs.methods if flat[method.key].get("loss") == loss]
        for metric in [metric for metric, is_higher in inputs.table.higher_is_better.items() if is_higher]:
            top = max((value for method in inside for value in method.values(metric, inputs.table.split)), default=0)
            for method in inside if top > 0 else ():
                found[method.key] += [100 * v / top for v in method.values(metric, inputs.table.split)]
    return found


def _drawn(found: Distributions, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        for axes, (key, levels) in zip(axes_in(figure, len(found), is_narrow=is_narrow), found.items(), strict=True):
            _draw_one(axes, key, levels, palette)

    return draw


def _draw_one(axes: "Axes", key: str, levels: Mapping[str, np.ndarray], palette: Palette) -> None:
    plain_axes(axes, palette)
    axes.grid(visible=False, axis="y")
    ordered = sorted(levels.items(), key=lambda item: -float(np.median(item[1])))
    for line, (_, values) in enumerate(ordered):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        axes.plot([values.min(), values.max()], [line, line], color=palette.soft, linewidth=1)
        axes.barh(line, high - low, 0.5, left=low, color=palette.series[0], alpha=0.3, linewidth=0)
        axes.plot([middle, middle], [line - 0.25, line + 0.25], color=palette.series[0], linewidth=2.5)
    axes.set_yticks(range(len(ordered)), [shorten(level, 22) for level, _ in ordered], color=palette.ink)
    axes.set_ylim(len(ordered) - 0.5, -0.5)
    axes.set_title(shorten(key, 40), fontsize=10.5, color=palette.ink, loc="left")
    axes.set_xlabel("% of the best with the same loss", color=palette.soft, fontsize=9)
