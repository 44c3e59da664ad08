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
from statistics import fmean
from typing import NamedTuple

from fairground.papers.claims import CLASSICS, claimed_gain
from fairground.papers.published import published_rows
from fairground.reporting.drawing import Bar, Panel, Series, panels
from fairground.reporting.figure import PRECISION_AT_1, FigureInputs, ReportFigure, count, factor_of
from fairground.reporting.figures.regularised import is_changed
from fairground.reporting.headings import heading
from fairground.reporting.tables import ResultTable
from fairground.spec.identity import flatten

PAGE_ORDER = 94
#: not part of the averages, as in the paper: a poor outlier, and the baselines
EXCLUDED = ("fast_ap", *CLASSICS)
SETTINGS = ("separated", "concatenated")


class AverageGain(NamedTuple):
    """One bar: its source, the average in per cent, and the methods or papers it is over."""

    source: str
    value: float
    over: str
    series: Series


def average_gains_of(inputs: FigureInputs) -> dict[str, list[AverageGain]]:
    """Return the bars over each classic loss that was run, the papers' first."""
    tables = [table for table in (inputs.table, inputs.concatenated) if table is not None]
    here = [_means(table, inputs.habitual) for table in tables]
    names = ["here"] if len(here) == 1 else [f"here, {setting}" for setting in SETTINGS]
    found: dict[str, list[AverageGain]] = {}
    for baseline in CLASSICS:
        measured = [_average(name, means, baseline, i) for i, (name, means) in enumerate(zip(names, here, strict=True))]
        if not any(measured):
            continue
        mlrc = [
            _average(f"MLRC, {setting}", _mlrc_scores(inputs.dataset, setting), baseline, i)
            for i, setting in enumerate(SETTINGS)
        ]
        found[baseline] = [gain for gain in (*mlrc, *measured) if gain is not None]
        claimed = claimed_gain(baseline, inputs.dataset)
        if claimed is not None:
            papers = count(claimed.n_papers, "paper")
            found[baseline].insert(0, AverageGain("papers claim", claimed.value, papers, "soft"))
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when a classic loss was run with newer ones at Precision@1; joined models are bars of it."""
    is_joined = any("ensemble" in record.spec for record in inputs.runs.records)
    found = average_gains_of(inputs) if inputs.habitual in PRECISION_AT_1 and not is_joined else {}
    if not found:
        return None
    has_claims = any(gain.series == "soft" for gains in found.values() for gain in gains)
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
            title=f"over {baseline}",
            x="average relative improvement %",
            margin=0.25,
            has_zero_line=True,
        )
        for baseline, gains in found.items()
    ]
    return ReportFigure(
        name="average_improvement",
        title="Papers versus these runs: the average improvement",
        sentence=(
            f"Average relative improvement of {heading(inputs.habitual)} over {' and '.join(found)} in these runs "
            f"({count(inputs.n_runs, 'run')}), without FastAP and the two classic losses."
            f"{claims if has_claims else ''} As in figure 3 of Musgrave et al., 2020."
        ),
        draw=panels(drawn),
        height=1.2 + 0.4 * max(len(gains) for gains in found.values()),
        columns=("over", "source", "average", "of"),
        numbers=tuple(
            (baseline, gain.source, f"{gain.value:+.1f} %", gain.over)
            for baseline, gains in found.items()
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


def _mlrc_scores(dataset: str, setting: str) -> dict[str, list[float]]:
    """Return what MLRC measured on this data set, by loss."""
    found: dict[str, list[float]] = {}
    for row in published_rows("mlrc2020"):
        if row.dataset == dataset and row.setting == setting and row.metric in PRECISION_AT_1:
            found.setdefault(row.loss, []).append(row.right_value)
    return found


def _average(source: str, means: Mapping[str, Sequence[float]], baseline: str, series: Series) -> AverageGain | None:
    """Return the average gain over the best plain method with a classic loss."""
    at = max(means.get(baseline, ()), default=0.0)
    gains = [100 * (mean - at) / at for loss, some in means.items() if loss not in EXCLUDED for mean in some if at > 0]
    return AverageGain(source, fmean(gains), count(len(gains), "method"), series) if gains else None
