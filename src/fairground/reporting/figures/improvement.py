"""By how much each method beats the contrastive and the triplet loss here, and in MLRC's own measurements.

Formula
    relative improvement = 100 (score - baseline) / baseline, the baseline being the best plain contrastive or triplet
    method of the same table; its negative where less is better

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 3.
"""

from statistics import fmean
from typing import NamedTuple

from fairground.papers.claims import CLASSICS
from fairground.papers.published import published_rows
from fairground.reporting.drawing import bars_and_marks, panels
from fairground.reporting.figure import PRECISION_AT_1, FigureInputs, ReportFigure, count
from fairground.reporting.figures.regularised import is_changed
from fairground.reporting.headings import heading
from fairground.spec.measurement_names import goodness

PAGE_ORDER = 95
_MOST = 20


class Gain(NamedTuple):
    """One method over one baseline in per cent; `measured` is what MLRC measured for the loss, over its data sets."""

    label: str
    here: float
    measured: float | None


def gains_of(inputs: FigureInputs) -> dict[str, list[Gain]]:
    """Return the gains over each baseline that was run, largest first."""
    found: dict[str, list[Gain]] = {}
    means = inputs.means(inputs.habitual)
    settings = {method.label: inputs.settings(method) for method in inputs.methods if method.label in means}
    losses = {label: flat.get("loss", "") for label, flat in settings.items()}
    # Switched tuples or mixup make another method, which MLRC did not measure.
    changed = {label for label, flat in settings.items() if is_changed(flat)}
    is_higher = inputs.table.higher_is_better.get(inputs.habitual)
    for baseline in CLASSICS:
        plain = [label for label in means if losses[label] == baseline and label not in changed]
        at = abs(max((goodness(means[label], is_higher) for label in plain), default=0.0))
        gains = [
            Gain(
                label=label,
                here=goodness(100 * (mean - at) / at, is_higher),
                measured=None if label in changed else _measured(losses[label], baseline),
            )
            for label, mean in means.items()
            if at > 0 and label not in plain
        ]
        if gains:
            found[baseline] = sorted(gains, key=lambda gain: -gain.here)
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when contrastive or triplet was run beside something else."""
    found = gains_of(inputs)
    if not found:
        return None
    most = max(len(gains) for gains in found.values())
    return ReportFigure(
        name="improvement",
        title="Improvement over the classic losses",
        sentence=(
            f"Relative improvement of {heading(inputs.habitual)} over {' and '.join(found)} in these runs "
            f"({count(inputs.n_runs, 'run')}); hollow marks are the measurements of Musgrave et al., 2020, for the "
            f"same loss, mean over their data sets.{f' The {_MOST} largest are drawn.' if most > _MOST else ''} Their "
            "figure 3 averages over methods: see the average improvement."
        ),
        draw=panels(
            [
                bars_and_marks(gains[:_MOST], title=f"over {over}", x="relative improvement %")
                for over, gains in found.items()
            ]
        ),
        height=1.2 + 0.34 * min(_MOST, most),
        columns=("over", "method", "here", "MLRC"),
        numbers=tuple(
            (over, g.label, f"{g.here:+.1f} %", "-" if g.measured is None else f"{g.measured:+.1f} %")
            for over, gains in found.items()
            for g in gains
        ),
    )


def _measured(loss: str, baseline: str) -> float | None:
    """Return MLRC's mean relative improvement at Precision@1, separated, over its data sets."""
    best: dict[tuple[str, str], float] = {}
    for row in published_rows("mlrc2020"):
        if row.metric in PRECISION_AT_1 and row.setting == "separated":
            best[row.loss, row.dataset] = max(best.get((row.loss, row.dataset), 0.0), row.right_value)
    both = [(best[loss, data], at) for (name, data), at in best.items() if name == baseline and (loss, data) in best]
    return fmean(100 * (mine - at) / at for mine, at in both) if both else None
