"""Progress, claimed by papers and measured here: over the classic losses, method by method and on average, by year.

Formula
    improvement          100 (score - baseline) / baseline, the baseline being the best plain contrastive or triplet
                         method of the same table; its negative where less is better
    average_improvement  the same at Precision@1, averaged over methods: over papers that print both their own method
                         and the baseline; and here over all methods but FastAP, an outlier, and the two classic
                         losses, for the models of single folds (separated) and their embeddings joined (concatenated)
    over_time            the best method with each loss by the year of the loss, by Precision@1 and by MAP@R, with a
                         line fitted by least squares; and what a paper prints for its own method; for the contrastive
                         and the triplet loss the mean of what papers report (*). Without numbers measured by papers
                         that compare methods

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figures 2 and 3, and its supplementary
    page for the version of figure 2 with MAP@R.

Departures from the paper
    The bars of papers use the claims in `papers/`; the paper collected more of them, and prints none.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fairground.papers.published import CLASSICS, Claim, claimed_gain, claims_on, published_rows, published_years
from fairground.reporting.drawing import DASHED, Bar, Line, Names, Panel, Points, Series, bars_and_marks, panels
from fairground.reporting.figure import PRECISION_AT_1, FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.reporting.figures.regularisation import change_of
from fairground.reporting.headings import heading
from fairground.reporting.tables import ResultTable
from fairground.spec.declarations import reference_of
from fairground.spec.identity import flatten
from fairground.spec.measurement_names import goodness

PAGE_ORDER = {"over_time": 90, "average_improvement": 94, "improvement": 95}
LEAST_LOSSES = 3
#: not part of the averages, as in the paper: a poor outlier, and the baselines
EXCLUDED = ("fast_ap", *CLASSICS)
SETTINGS = ("separated", "concatenated")
_MOST_METHODS = 20


class Gain(NamedTuple):
    """One method over one baseline in per cent; `measured` is what MLRC measured for the loss, over its data sets."""

    label: str
    here: float
    measured: float | None


def gains_of(inputs: FigureInputs) -> dict[str, list[Gain]]:
    found: dict[str, list[Gain]] = {}
    means = inputs.means(inputs.habitual)
    settings = {method.label: method.settings for method in inputs.methods if method.label in means}
    losses = {label: flat.get("loss", "") for label, flat in settings.items()}
    # Switched tuples or mixup make another method, which MLRC did not measure.
    changed = {label for label, flat in settings.items() if change_of(flat)}
    is_higher = inputs.table.higher_is_better.get(inputs.habitual)
    for baseline in CLASSICS:
        plain = [label for label in means if losses[label] == baseline and label not in changed]
        at = abs(max((goodness(means[label], is_higher) for label in plain), default=0.0))
        gains = []
        for label, mean in means.items():
            if at > 0 and label not in plain:
                measured = None if label in changed else _measured(losses[label], baseline)
                gains.append(Gain(label, goodness(100 * (mean - at) / at, is_higher), measured))
        if gains:
            found[baseline] = sorted(gains, key=lambda gain: -gain.here)
    return found


def _measured(loss: str, baseline: str) -> float | None:
    """Return MLRC's mean relative improvement at Precision@1, separated, over its data sets."""
    best: dict[tuple[str, str], float] = {}
    for row in published_rows("mlrc2020"):
        if row.metric in PRECISION_AT_1 and row.setting == "separated":
            best[row.loss, row.dataset] = max(best.get((row.loss, row.dataset), 0.0), row.right_value)
    both = [(best[loss, data], at) for (name, data), at in best.items() if name == baseline and (loss, data) in best]
    return fmean(100 * (mine - at) / at for mine, at in both) if both else None


def improvement(inputs: FigureInputs) -> ReportFigure | None:
    found = gains_of(inputs)
    if not found:
        return None
    most = max(len(gains) for gains in found.values())
    drawn = [
        bars_and_marks(gains[:_MOST_METHODS], title=f"over {over}", x="relative improvement %")
        for over, gains in found.items()
    ]
    left_out = f" The {_MOST_METHODS} largest are drawn." if most > _MOST_METHODS else ""
    return ReportFigure(
        title="Improvement over the classic losses",
        sentence=f"Relative improvement of {heading(inputs.habitual)} over {' and '.join(found)} in these runs "
        f"({count(len(inputs.done), 'run')}); hollow marks are the measurements of Musgrave et al., 2020, for the "
        f"same loss, mean over their data sets.{left_out} Their figure 3 averages over methods: see the average "
        "improvement.",
        draw=panels(drawn),
        height=1.2 + 0.34 * min(_MOST_METHODS, most),
        columns=("over", "method", "here", "MLRC"),
        rows=[
            (over, label, f"{here:+.1f} %", None if measured is None else f"{measured:+.1f} %")
            for over, gains in found.items()
            for label, here, measured in gains
        ],
    )


class AverageGain(NamedTuple):
    """One bar: its source, the average in per cent, and the methods or papers it is over."""

    source: str
    value: float
    over: str
    series: Series


def average_gains_of(inputs: FigureInputs) -> dict[str, list[AverageGain]]:
    """Return the bars over each classic loss that was run, the papers' first."""
    tables = [table for table in (inputs.table, inputs.concatenated) if table is not None]
    names = ["here"] if len(tables) == 1 else [f"here, {setting}" for setting in SETTINGS]
    here = {name: _means(table, inputs.habitual) for name, table in zip(names, tables, strict=True)}
    rows = [row for row in published_rows("mlrc2020") if row.dataset == inputs.dataset and row.metric in PRECISION_AT_1]
    mlrc = {
        f"MLRC, {setting}": _by_loss((row.loss, row.right_value) for row in rows if row.setting == setting)
        for setting in SETTINGS
    }
    found: dict[str, list[AverageGain]] = {}
    for baseline in CLASSICS:
        measured = _averages(here, baseline)
        if not measured:
            continue
        claimed = claimed_gain(baseline, inputs.dataset)
        found[baseline] = [*_averages(mlrc, baseline), *measured]
        if claimed is not None:
            papers = count(claimed.n_papers, "paper")
            found[baseline].insert(0, AverageGain("papers claim", claimed.value, papers, "soft"))
    return found


def _means(table: ResultTable, metric: str) -> dict[str, list[float]]:
    """Return the mean scores of all trained methods by loss, without those that switch tuples or mix."""
    flat = [(row.method.values(metric, table.split), flatten(row.method.records[0].spec)) for row in table.rows]
    return _by_loss(
        (settings.get("loss", ""), factor_of(metric) * fmean(values))
        for values, settings in flat
        if values and not change_of(settings) and settings.get("training.epochs") != "0"
    )


def _by_loss(scores: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for loss, score in scores:
        found.setdefault(loss, []).append(score)
    return found


def _averages(sources: Mapping[str, Mapping[str, Sequence[float]]], baseline: str) -> list[AverageGain]:
    """Return each source's average gain over its best plain method with a classic loss."""
    found = []
    for series, (source, means) in enumerate(sources.items()):
        at = max(means.get(baseline, ()), default=0.0)
        others = [mean for loss, some in means.items() if loss not in EXCLUDED for mean in some if at > 0]
        if others:
            value = fmean(100 * (mean - at) / at for mean in others)
            found.append(AverageGain(source, value, count(len(others), "method"), series))
    return found


def average_improvement(inputs: FigureInputs) -> ReportFigure | None:
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
        title="Papers versus these runs: the average improvement",
        sentence=f"Average relative improvement of {heading(inputs.habitual)} over {' and '.join(found)} in these runs "
        f"({count(len(inputs.done), 'run')}), without FastAP and the two classic losses."
        f"{claims if has_claims else ''} As in figure 3 of Musgrave et al., 2020.",
        draw=panels(drawn),
        height=1.2 + 0.4 * max(map(len, found.values())),
        columns=("over", "source", "average", "of"),
        rows=[
            (baseline, source, f"{value:+.1f} %", over)
            for baseline, gains in found.items()
            for source, value, over, _ in gains
        ],
    )


class Dated(NamedTuple):
    """The best method with one loss here, and the year of the loss."""

    loss: str
    year: int
    score: float
    n_runs: int


def year_of(loss: str) -> int | None:
    reference = reference_of("losses", loss)
    return published_years().get(loss, None if reference is None else reference.year)


def dated_of(inputs: FigureInputs, metric: str) -> list[Dated]:
    best: dict[str, Dated] = {}
    for method in inputs.methods:
        loss = method.settings.get("loss", "")
        year, scores = year_of(loss), inputs.scores(method, metric)
        if year is not None and scores and (loss not in best or fmean(scores) > best[loss].score):
            best[loss] = Dated(loss, year, fmean(scores), len(scores))
    return sorted(best.values(), key=lambda dated: (dated.year, dated.loss))


def over_time(inputs: FigureInputs) -> ReportFigure | None:
    metrics = dict.fromkeys([inputs.habitual, *(metric for metric in inputs.table.metrics if metric == "map@r")])
    by_metric = {metric: dated_of(inputs, metric) for metric in metrics}
    dated = by_metric[inputs.habitual]
    if len(dated) < LEAST_LOSSES or len({one.year for one in dated}) < 2:
        return None
    claims = claims_on(inputs.dataset) if inputs.habitual in PRECISION_AT_1 else []
    marked = (
        f" Hollow marks are {count(len(claims), 'claim')} of papers on this data set, for their own methods or, with "
        "*, the mean of what they report for a classic loss."
    )
    drawn, slopes = [], []
    for metric, some in by_metric.items():
        line = np.polyfit([one.year for one in some], [one.score for one in some], 1)
        slopes.append(f"{line[0]:+.2f} ({heading(metric)})")
        drawn.append(_progress(metric, some, [] if metric == "map@r" else claims, line))
    scores = [{one.loss: one.score for one in some} for some in by_metric.values()]
    return ReportFigure(
        title="Progress over the years",
        sentence=f"{' and '.join(map(heading, by_metric))} of the best method with each of "
        f"{len(dated)} losses ({count(sum(one.n_runs for one in dated), 'run')}) by the year of its paper; the "
        f"fitted lines move by {' and '.join(slopes)} points per year.{marked if claims else ''} As in figure 2 of "
        "Musgrave et al., 2020.",
        draw=panels(drawn),
        height=4.0,
        columns=("what", "year", *map(heading, by_metric)),
        rows=[
            *((one.loss, one.year, *(some.get(one.loss) for some in scores)) for one in dated),
            *((f"claimed: {one.label}", one.year, one.value, *[None] * (len(scores) - 1)) for one in claims),
        ],
    )


def _progress(metric: str, dated: Sequence[Dated], claims: Sequence[Claim], line: np.ndarray) -> Panel:
    years, scores = [one.year for one in dated], [one.score for one in dated]
    ends = (min(years), max(years))
    claimed = [(claim.label, claim.year, claim.value, 1) for claim in claims]
    _, x, y, _ = zip(*claimed, strict=True) if claimed else ((),) * 4
    return Panel(
        items=[
            Line(x=ends, y=np.polyval(line, ends).tolist(), dash=DASHED, width=1.5),
            Points(x=x, y=y, series=1, sign="o", size=5, is_hollow=True),
            Points(x=years, y=scores, sign="D", size=7, alpha=1),
            Names(marks=[*((one.loss, one.year, one.score, "ink") for one in dated), *claimed]),
        ],
        x="year of the paper",
        y=axis_of(metric),
        margin=0.2,
        has_whole_x=True,
    )
