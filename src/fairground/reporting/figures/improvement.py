"""By how much each method beats the contrastive and the triplet loss here, and in MLRC's own measurements.

Formula
    relative improvement = 100 (score - baseline) / baseline, the baseline being the best plain contrastive or triplet
    method of the same table; its negative where less is better

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 3.
"""

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from fairground.papers.published import PublishedRow, published_rows
from fairground.reporting.drawing import Draw, axes_in, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.figures.regularised import is_changed
from fairground.reporting.headings import heading, squeeze
from fairground.reporting.palette import Palette
from fairground.spec.measurement_names import goodness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 95
BASELINES = ("contrastive", "triplet")
_MOST = 20


@dataclass(frozen=True, kw_only=True)
class Gain:
    """One method over one baseline in per cent; `measured` is what MLRC measured for the loss, over its data sets."""

    label: str
    here: float
    measured: float | None


def gains_of(inputs: FigureInputs) -> dict[str, list[Gain]]:
    """Return the gains over each baseline that was run, largest first."""
    found: dict[str, list[Gain]] = {}
    means = {m.key: fmean(s) for m in inputs.methods if (s := inputs.scores(m, inputs.habitual))}
    losses = {method.key: inputs.settings(method).get("loss", "") for method in inputs.methods}
    # What switches tuples or mixes is no classic loss any more, and MLRC did not measure it.
    switched = {method.key for method in inputs.methods if is_changed(inputs.settings(method))}
    is_higher = inputs.table.higher_is_better.get(inputs.habitual)
    for baseline in BASELINES:
        plain = [key for key in means if losses[key] == baseline and key not in switched]
        at = abs(max((goodness(means[key], is_higher) for key in plain), default=0.0))
        others = [method for method in inputs.methods if method.key in means and method.key not in plain]
        if at > 0 and others:
            gains = [
                Gain(
                    label=method.label,
                    here=goodness(100 * (means[method.key] - at) / at, is_higher),
                    measured=None if method.key in switched else _measured(losses[method.key], baseline),
                )
                for method in others
            ]
            found[baseline] = sorted(gains, key=lambda gain: -gain.here)
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when contrastive or triplet was run beside something else."""
    found = gains_of(inputs)
    if not found:
        return None
    lines = min(_MOST, max(len(gains) for gains in found.values()))
    shown = {over: gains[:_MOST] for over, gains in found.items()}
    left_out = any(len(gains) > _MOST for gains in found.values())
    n_runs = sum(len(method.done) for method in inputs.methods)
    return ReportFigure(
        name="improvement",
        title="Improvement over the classic losses",
        sentence=(
            f"Relative improvement of {heading(inputs.habitual)} over {' and '.join(found)} in these runs "
            f"({count(n_runs, 'run')}); hollow marks are what Musgrave et al., 2020, measured for the same loss, mean "
            f"over their data sets.{f' Drawn are the {_MOST} largest.' if left_out else ''} Their figure 3 averages "
            "over methods: see the average improvement."
        ),
        draw=lambda is_narrow: _drawn(shown, is_narrow),
        height=1.2 + 0.34 * lines,
        narrow_height=(1.1 + 0.38 * lines) * len(found),
        columns=("over", "method", "here", "MLRC"),
        numbers=tuple(
            (over, g.label, f"{g.here:+.1f} %", "-" if g.measured is None else f"{g.measured:+.1f} %")
            for over, gains in found.items()
            for g in gains
        ),
    )


def _measured(loss: str, baseline: str) -> float | None:
    """Return MLRC's mean relative improvement at Precision@1, separated, over its data sets."""
    gains = []
    for dataset in ("cub200", "cars196", "sop"):
        mine, base = (_best_of(word, dataset) for word in (loss, baseline))
        if mine is not None and base is not None:
            gains.append(100 * (mine - base) / base)
    return fmean(gains) if gains else None


def _best_of(loss: str, dataset: str) -> float | None:
    def is_meant(row: PublishedRow) -> bool:
        is_score = row.metric in ("precision@1", "recall@1") and row.setting == "separated"
        return is_score and (row.loss, row.dataset) == (loss, dataset)

    return max((row.right_value for row in published_rows("mlrc2020") if is_meant(row)), default=None)


def _drawn(found: dict[str, list[Gain]], is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        for axes, (over, gains) in zip(axes_in(figure, len(found), is_narrow=is_narrow), found.items(), strict=True):
            _draw_one(axes, over, gains, palette)

    return draw


def _draw_one(axes: "Axes", over: str, gains: list[Gain], palette: Palette) -> None:
    plain_axes(axes, palette)
    axes.grid(visible=False, axis="y")
    for line, gain in enumerate(gains):
        colour = palette.series[0 if gain.here >= 0 else 1]
        axes.barh(line, gain.here, 0.55, color=colour, alpha=0.5, linewidth=0)
        if gain.measured is not None:
            axes.plot(gain.measured, line, "o", markerfacecolor="none", markeredgecolor=palette.ink, markersize=6)
    axes.axvline(0, color=palette.soft, linewidth=1)
    axes.set_yticks(range(len(gains)), [squeeze(gain.label, 26) for gain in gains], color=palette.ink)
    axes.set_ylim(len(gains) - 0.5, -0.5)
    axes.set_title(f"over {over}", fontsize=10.5, color=palette.ink, loc="left")
    axes.set_xlabel("relative improvement %", color=palette.soft, fontsize=9)
