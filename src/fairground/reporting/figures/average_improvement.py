"""Papers versus reality: the average improvement over the contrastive and the triplet loss, claimed and measured.

Formula
    relative improvement = 100 (score - baseline) / baseline at Precision@1, averaged over methods
    papers        over papers that print both their own method and the baseline
    measured      over all methods but FastAP, an outlier, and the two classic losses: the models of single folds
                  (separated) and their embeddings joined (concatenated)

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 3.

Departures from the paper
    The bars of papers use the claims in `papers/`; the paper collected more of them, and prints none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fairground.papers.claims import CLASSICS, claimed_gain
from fairground.papers.published import published_rows
from fairground.reporting.drawing import Bar, Panel, Series, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count, factor_of
from fairground.reporting.figures.regularised import is_changed
from fairground.reporting.headings import heading
from fairground.reporting.tables import ResultTable
from fairground.spec.identity import flatten

PAGE_ORDER = 94
#: not part of the averages, as in the paper: a poor outlier, and the baselines
EXCLUDED = ("fast_ap", *CLASSICS)
_FIRST = ("recall@1", "precision@1")


@dataclass(frozen=True, kw_only=True)
class AverageGain:
    """One bar: its source, the average in per cent, and the number of methods or papers."""

    source: str
    value: float
    n: int
    is_claimed: bool = False
    is_concatenated: bool = False

    @property
    def series(self) -> Series:
        return "soft" if self.is_claimed else int(self.is_concatenated)


def average_gains_of(inputs: FigureInputs) -> dict[str, list[AverageGain]]:
    """Return the bars over each classic loss that was run, the papers' first."""
    found: dict[str, list[AverageGain]] = {}
    here = {"here" if inputs.concatenated is None else "here, separated": _means(inputs.table, inputs.habitual)}
    if inputs.concatenated is not None:
        here["here, concatenated"] = _means(inputs.concatenated, inputs.habitual)
    for over in CLASSICS:
        measured = [_average(source, means, over) for source, means in here.items()]
        if any(measured):
            claimed = claimed_gain(over, inputs.dataset)
            every = [*_mlrc(over, inputs.dataset), *measured]
            if claimed is not None:
                gain = AverageGain(source="papers claim", value=claimed.value, n=claimed.n_papers, is_claimed=True)
                every.insert(0, gain)
            found[over] = [gain for gain in every if gain is not None]
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when a classic loss was run with newer ones at Precision@1; joined models are bars of it."""
    is_joined = any("ensemble" in record.spec for record in inputs.runs.records)
    found = average_gains_of(inputs) if inputs.habitual in _FIRST and not is_joined else {}
    if not found:
        return None
    n_runs = sum(len(method.done) for method in inputs.methods)
    has_claims = any(gain.is_claimed for gains in found.values() for gain in gains)
    claims = (
        " Bars of papers average the claimed improvement of their own method over the classic loss in the same paper."
    )
    drawn = [
        Panel(
            items=[
                Bar(row=row, value=gain.value, series=gain.series, alpha=0.6, text=f"{gain.value:+.1f} %")
                for row, gain in enumerate(gains)
            ],
            rows=[gain.source for gain in gains],
            title=f"over {over}",
            x="average relative improvement %",
            margin=0.25,
            has_zero_line=True,
        )
        for over, gains in found.items()
    ]
    return ReportFigure(
        name="average_improvement",
        title="Papers versus these runs: the average improvement",
        sentence=(
            f"Average relative improvement of {heading(inputs.habitual)} over {' and '.join(found)} in these runs "
            f"({count(n_runs, 'run')}), without FastAP and the two classic losses.{claims if has_claims else ''} As in "
            "figure 3 of Musgrave et al., 2020."
        ),
        draw=panels(drawn),
        height=1.2 + 0.4 * max(len(gains) for gains in found.values()),
        columns=("over", "source", "average", "of"),
        numbers=tuple(
            (over, gain.source, f"{gain.value:+.1f} %", count(gain.n, "paper" if gain.is_claimed else "method"))
            for over, gains in found.items()
            for gain in gains
        ),
    )


def _means(table: ResultTable, metric: str) -> dict[str, list[float]]:
    """Return the mean scores of all trained methods by loss, without those that switch tuples or mix."""
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
    if not gains:
        return None
    return AverageGain(source=source, value=fmean(gains), n=len(gains), is_concatenated="concatenated" in source)


def _mlrc(over: str, dataset: str) -> list[AverageGain | None]:
    """Return what MLRC measured on this data set, in both settings."""
    found = []
    for setting in ("separated", "concatenated"):
        means: dict[str, list[float]] = {}
        for row in published_rows("mlrc2020"):
            if row.dataset == dataset and row.setting == setting and row.metric in _FIRST:
                means.setdefault(row.loss, []).append(row.right_value)
        found.append(_average(f"MLRC, {setting}", means, over))
    return found
