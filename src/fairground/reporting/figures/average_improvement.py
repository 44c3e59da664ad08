"""Papers versus reality: the average improvement over the contrastive and the triplet loss, claimed and measured.

Formula
    relative improvement = 100 (score - baseline) / baseline at Precision@1, averaged over methods
    papers        over papers that print both their own method and the baseline
    measured      over all methods but FastAP, an outlier, and the two classic losses: the models of single folds
                  (separated) and their embeddings joined (concatenated)

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 3.

Departures from the paper
    The bars of papers rest on the claims held in `published/`; the paper collected more of them, and prints none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from fairground.papers.claims import CLASSICS, claimed_gain
from fairground.papers.published import published_rows
from fairground.reporting.drawing import Draw, axes_in, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count, factor_of
from fairground.reporting.figures.regularised import is_changed
from fairground.reporting.headings import heading, squeeze
from fairground.reporting.palette import Palette
from fairground.reporting.tables import ResultTable
from fairground.spec.identity import flatten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 94
#: left out of the averages, as the paper says: a poor outlier, and what is improved upon
EXCLUDED = ("fast_ap", *CLASSICS)
_FIRST = ("recall@1", "precision@1")
_CLAIMS = (
    " Bars of papers average what they claim for their own method over what they report for the classic loss, where "
    "both are held here."
)


@dataclass(frozen=True, kw_only=True)
class AverageGain:
    """One bar: whose average it is, in per cent, and over how many methods or papers."""

    source: str
    value: float
    n: int
    is_claimed: bool = False


def average_gains_of(inputs: FigureInputs) -> dict[str, list[AverageGain]]:
    """Return the bars over each classic loss that was run, the papers' first."""
    found: dict[str, list[AverageGain]] = {}
    for over in CLASSICS:
        here = [
            gain
            for source, table in ((_separated(inputs), inputs.table), ("here, concatenated", inputs.concatenated))
            if table is not None and (gain := _average(source, _means(table, inputs.habitual), over)) is not None
        ]
        if here:
            found[over] = [*_papers(over, inputs.dataset), *_mlrc(over, inputs.dataset), *here]
    return found


def _separated(inputs: FigureInputs) -> str:
    """Return what the models of these runs are called: separated only where others are joined."""
    return "here" if inputs.concatenated is None else "here, separated"


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when a classic loss was run with newer ones at Precision@1; joined models are bars of it."""
    is_joined = any("ensemble" in record.spec for record in inputs.runs.records)
    found = average_gains_of(inputs) if inputs.habitual in _FIRST and not is_joined else {}
    if not found:
        return None
    n_runs = sum(len(method.done) for method in inputs.methods)
    has_claims = any(gain.is_claimed for gains in found.values() for gain in gains)
    lines = max(len(gains) for gains in found.values())
    return ReportFigure(
        name="average_improvement",
        title="Papers versus these runs: the average improvement",
        sentence=(
            f"Average relative improvement of {heading(inputs.habitual)} over {' and '.join(found)} in these runs "
            f"({count(n_runs, 'run')}), FastAP and the two classic losses left out.{_CLAIMS if has_claims else ''} As "
            "figure 3 of Musgrave et al., 2020."
        ),
        draw=lambda is_narrow: _drawn(found, is_narrow),
        height=1.2 + 0.4 * lines,
        narrow_height=(1.1 + 0.42 * lines) * len(found),
        columns=("over", "whose", "average", "of"),
        numbers=tuple(
            (over, gain.source, f"{gain.value:+.1f} %", count(gain.n, "paper" if gain.is_claimed else "method"))
            for over, gains in found.items()
            for gain in gains
        ),
    )


def _means(table: ResultTable, metric: str) -> dict[str, list[float]]:
    """Return the mean scores of all trained methods by loss; what switches tuples or mixes is no loss of its own."""
    found: dict[str, list[float]] = {}
    for row in table.rows:
        settings = flatten(row.method.records[0].spec)
        values = row.method.values(metric, table.split)
        if values and not is_changed(settings) and settings.get("training.epochs") != "0":
            found.setdefault(settings.get("loss", ""), []).append(factor_of(metric) * fmean(values))
    return found


def _average(source: str, means: Mapping[str, Sequence[float]], over: str) -> AverageGain | None:
    """Return the average gain over the best plain method with a classic loss."""
    at = max(means.get(over, ()), default=0.0)
    gains = [100 * (mean - at) / at for loss, some in means.items() if loss not in EXCLUDED for mean in some if at > 0]
    return AverageGain(source=source, value=fmean(gains), n=len(gains)) if gains else None


def _papers(over: str, dataset: str) -> list[AverageGain]:
    claimed = claimed_gain(over, dataset)
    if claimed is None:
        return []
    return [AverageGain(source="papers claim", value=claimed.value, n=claimed.n_papers, is_claimed=True)]


def _mlrc(over: str, dataset: str) -> list[AverageGain]:
    """Return what MLRC measured on this data set, in both settings."""
    found = []
    for setting in ("separated", "concatenated"):
        means: dict[str, list[float]] = {}
        for row in published_rows("mlrc2020"):
            if row.dataset == dataset and row.setting == setting and row.metric in _FIRST:
                means.setdefault(row.loss, []).append(row.right_value)
        gain = _average(f"MLRC, {setting}", means, over)
        found += [] if gain is None else [gain]
    return found


def _drawn(found: Mapping[str, Sequence[AverageGain]], is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        for axes, (over, gains) in zip(axes_in(figure, len(found), is_narrow=is_narrow), found.items(), strict=True):
            _draw_one(axes, over, gains, palette)

    return draw


def _draw_one(axes: "Axes", over: str, gains: Sequence[AverageGain], palette: Palette) -> None:
    plain_axes(axes, palette)
    axes.grid(visible=False, axis="y")
    for line, gain in enumerate(gains):
        colour = palette.soft if gain.is_claimed else palette.series[1 if "concatenated" in gain.source else 0]
        axes.barh(line, gain.value, 0.6, color=colour, alpha=0.6, linewidth=0)
        axes.annotate(
            f" {gain.value:+.1f} %",
            (max(gain.value, 0), line),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=palette.ink,
        )
    axes.axvline(0, color=palette.soft, linewidth=1)
    axes.margins(x=0.25)
    axes.set_yticks(range(len(gains)), [squeeze(gain.source, 26) for gain in gains], color=palette.ink)
    axes.set_ylim(len(gains) - 0.5, -0.5)
    axes.set_title(f"over {over}", fontsize=10.5, color=palette.ink, loc="left")
    axes.set_xlabel("average relative improvement %", color=palette.soft, fontsize=9)
