"""By how much each method beats the contrastive and the triplet loss here, and in MLRC's own measurements.

Formula
    relative improvement = 100 (score - baseline) / baseline, the baseline being the best plain contrastive or triplet
    method of the same table; its negative where less is better

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from fairground.papers.published import PublishedRow, published_rows
from fairground.reporting.drawing import Bar, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.figures.regularised import is_changed
from fairground.reporting.headings import heading
from fairground.spec.measurement_names import goodness

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
    # Switched tuples or mixup make another method, which MLRC did not measure.
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
    left_out = any(len(gains) > _MOST for gains in found.values())
    n_runs = sum(len(method.done) for method in inputs.methods)
    return ReportFigure(
        name="improvement",
        title="Improvement over the classic losses",
        sentence=(
            f"Relative improvement of {heading(inputs.habitual)} over {' and '.join(found)} in these runs "
            f"({count(n_runs, 'run')}); hollow marks are the measurements of Musgrave et al., 2020, for the same loss, "
            f"mean over their data sets.{f' The {_MOST} largest are drawn.' if left_out else ''} Their figure 3 "
            "averages over methods: see the average improvement."
        ),
        draw=panels([_panel(over, gains[:_MOST]) for over, gains in found.items()]),
        height=1.2 + 0.34 * lines,
        columns=("over", "method", "here", "MLRC"),
        numbers=tuple(
            (over, g.label, f"{g.here:+.1f} %", "-" if g.measured is None else f"{g.measured:+.1f} %")
            for over, gains in found.items()
            for g in gains
        ),
    )


def _panel(over: str, gains: Sequence[Gain]) -> Panel:
    known = [(row, gain.measured) for row, gain in enumerate(gains) if gain.measured is not None]
    return Panel(
        items=[
            *(Bar(row=row, value=gain.here, series=0 if gain.here >= 0 else 1) for row, gain in enumerate(gains)),
            Points(x=[gain for _, gain in known], y=[row for row, _ in known], series="ink", is_hollow=True),
        ],
        rows=[gain.label for gain in gains],
        title=f"over {over}",
        x="relative improvement %",
        has_zero_line=True,
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
