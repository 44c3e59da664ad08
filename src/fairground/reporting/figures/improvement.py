"""Progress, claimed by papers and measured here: over the classic losses on average, and by year.

Formula
    average_improvement: 100 (score - baseline) / baseline at Precision@1, the baseline being the best plain contrastive
    or triplet method of the same table, averaged over papers that print both their own method and the baseline; and
    here over all methods but FastAP, an outlier, and the two classic losses, for separated and for concatenated models
    over_time: every method by the year of its loss, of more than 20 methods the best with each loss, with a line fitted
    by least squares and the t interval of its slope; and what a paper prints for its own method; for the two classic
    losses the mean of what papers report (*). Without numbers measured by papers that compare methods

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figures 2 and 3, and its supplementary
    page for the version of figure 2 with MAP@R.

Departures from the paper
    The bars of papers use the claims in `papers/`; the paper collected more of them, and prints none.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from fairground.comparison import LEVEL, Interval
from fairground.papers import CLASSICS, claimed_gain, claims_on, published_rows, published_years
from fairground.reporting import DASHED, PRECISION_AT_1, UNFAIR, ResultTable, Series, heading
from fairground.reporting.drawing import Bar, Line, Names, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of, side_of, signed
from fairground.reporting.figures.effects_of_settings import mean_change
from fairground.reporting.figures.regularisation import change_of
from fairground.spec import reference_of

PAGE_ORDER = {"over_time": 90, "average_improvement": 94}
LEAST_LOSSES = 3
#: not part of the averages, as in the paper: a poor outlier, and the baselines
EXCLUDED = ("fast_ap", *CLASSICS)
_MOST_METHODS = 20

#: one bar: its source, the average in per cent, the methods or papers it is over, and its colour
AverageGain = tuple[str, Interval, str, Series]


def average_gains_of(inputs: FigureInputs) -> dict[str, list[AverageGain]]:
    """Return the bars over each classic loss that was run, the papers' first."""
    rows = [row for row in published_rows("mlrc2020") if row.dataset == inputs.dataset and row.metric in PRECISION_AT_1]
    settings = {"separated": inputs.table, "concatenated": inputs.concatenated}
    mlrc = {f"MLRC, {one}": [(row.loss, row.right_value) for row in rows if row.setting == one] for one in settings}
    here = {f"here, {one}": _scores_by_loss(table, inputs.habitual) for one, table in settings.items() if table}
    here = here if len(here) > 1 else {"here": here["here, separated"]}
    found: dict[str, list[AverageGain]] = {}
    for baseline in CLASSICS:
        measured, claimed = _averages(here, baseline), claimed_gain(baseline, inputs.dataset)
        if measured:
            found[baseline] = [*_averages(mlrc, baseline), *measured]
            if claimed is not None:
                found[baseline].insert(0, ("papers claim", claimed, count(claimed.n, "paper"), "soft"))
    return found


def _scores_by_loss(table: ResultTable, metric: str) -> list[tuple[str, float]]:
    """Return loss and mean score of all trained methods but those that switch tuples or mix."""
    methods = [row for row in table.rows if row.settings.get("training.epochs") != "0"]
    return [
        (method.settings.get("loss", ""), factor_of(metric) * fmean(values))
        for method in methods
        if (values := method.values(metric, table.split)) and not change_of(method.settings)
    ]


def _averages(sources: Mapping[str, Sequence[tuple[str, float]]], baseline: str) -> list[AverageGain]:
    """Return each source's average gain over its best plain method with a classic loss."""
    found: list[AverageGain] = []
    for series, (source, scores) in enumerate(sources.items()):
        at = max((score for loss, score in scores if loss == baseline), default=0.0)
        gains = [100 * (score - at) / at for loss, score in scores if loss not in EXCLUDED and at > 0]
        if gains:
            found.append((source, mean_change(gains), count(len(gains), "method"), series))
    return found


def average_improvement(inputs: FigureInputs) -> ReportFigure | None:
    is_joined = any("ensemble" in record.spec for record in inputs.folds)
    found = average_gains_of(inputs) if inputs.habitual in PRECISION_AT_1 and not is_joined else {}
    if not found:
        return None
    has_claims = any(source == "papers claim" for gains in found.values() for source, *_ in gains)
    claims = (
        " Bars of papers average the claimed improvement of their own method over the classic loss in the same paper."
    )
    drawn = []
    for baseline, gains in found.items():
        bars = [
            Bar(row=row, value=gain.mean, series=series, alpha=0.6, text=f"{gain.mean:+.1f} %")
            for row, (_, gain, _, series) in enumerate(gains)
        ]
        names, x = [source for source, *_ in gains], "average relative improvement %"
        drawn.append(Panel(items=bars, rows=names, title=f"over {baseline}", x=x, margin=0.25, has_zero_line=True))
    return ReportFigure(
        title="Papers versus these runs: the average improvement",
        sentence=f"Average relative improvement of {heading(inputs.habitual)} over {' and '.join(found)}, with the "
        "95 % interval over methods: all but FastAP, the two classic losses, and those with switched tuples or mixup."
        f"{claims if has_claims else ''} As in figure 3 of Musgrave et al., 2020.",
        draw=panels(drawn),
        height=1.2 + 0.4 * max(map(len, found.values())),
        columns=("over", "source", "average", "of"),
        rows=[
            (baseline, source, f"{signed(gain)} %", over)
            for baseline, gains in found.items()
            for source, gain, over, _ in gains
        ],
        answer=" ".join(
            f"Over the {baseline} loss the other losses gain on average {signed(gain)} % of {heading(inputs.habitual)}"
            f"{source.removeprefix('here')} ({over}), {side_of(gain)}."
            for baseline, gains in found.items()
            for source, gain, over, _ in gains
            if source.startswith("here")
        ),
    )


def year_of(loss: str) -> int | None:
    reference = reference_of("losses", loss)
    return published_years().get(loss, None if reference is None else reference.year)


def dated_of(inputs: FigureInputs, metric: str) -> list[tuple[int, str, list[float]]]:
    """Return year, name and scores of every method, oldest first; of very many the best with each loss."""
    best: dict[str, tuple[int, str, list[float]]] = {}
    is_few = len(inputs.methods) <= _MOST_METHODS
    for method in inputs.methods:
        loss = method.settings.get("loss", "")
        name = method.label.removeprefix(UNFAIR) if is_few else loss
        year, scores = year_of(loss), inputs.scores(method, metric)
        if year is not None and scores and (name not in best or fmean(scores) > fmean(best[name][2])):
            best[name] = year, name, scores
    return sorted(best.values())


def slope_of(years: Sequence[int], means: Sequence[float]) -> Interval:
    """Return the slope of the least-squares line with its t interval; of two points it has none."""
    n, y = len(years), np.array(means)
    apart = np.array(years, dtype=float) - np.mean(years)
    slope = float((apart @ y) / (apart @ apart))
    if n < 3:
        return Interval(mean=slope, n=n)
    from scipy.special import stdtrit

    left = y - y.mean() - slope * apart
    half = float(stdtrit(n - 2, (1 + LEVEL) / 2)) * float(np.sqrt(left @ left / (n - 2) / (apart @ apart)))
    return Interval(mean=slope, low=slope - half, high=slope + half, n=n)


def over_time(inputs: FigureInputs) -> ReportFigure | None:
    metrics = dict.fromkeys([inputs.habitual, *(metric for metric in inputs.table.metrics if metric == "map@r")])
    by_metric = {metric: dated_of(inputs, metric) for metric in metrics}
    dated = by_metric[inputs.habitual]
    n_losses = len({method.settings.get("loss") for method in inputs.methods})
    if n_losses < LEAST_LOSSES or len({year for year, *_ in dated}) < 2:
        return None
    claims = claims_on(inputs.dataset) if inputs.habitual in PRECISION_AT_1 else []
    marked = (
        f" Hollow marks are {count(len(claims), 'claim')} of papers on this data set, for their own methods or, with "
        "*, the mean of what they report for a classic loss."
    )
    drawn, slopes = [], []
    for metric, some in by_metric.items():
        years, means = [year for year, *_ in some], [fmean(scores) for *_, scores in some]
        shown = [] if metric == "map@r" else claims
        marks: list[tuple[str, float, float, Series]] = [(one.label, one.year, one.value, 1) for one in shown]
        points = [(loss, year, mean) for (year, loss, _), mean in zip(some, means, strict=True)]
        line, ends = np.polyfit(years, means, 1), (min(years), max(years))
        slope = slope_of(years, means)
        slopes.append(f"{heading(metric)} by {signed(slope)} points, {side_of(slope)}")
        items: list[Line | Points | Names] = [
            Line(x=ends, y=np.polyval(line, ends).tolist(), dash=DASHED, width=1.5),
            Points(
                x=[one.year for one in shown],
                y=[one.value for one in shown],
                series=1,
                sign="o",
                size=5,
                is_hollow=True,
            ),
            Points(x=years, y=means, sign="D", size=7, alpha=1),
            Names(marks=[*((*point, "ink") for point in points), *marks]),
        ]
        drawn.append(Panel(items=items, x="year of the paper", y=axis_of(metric), margin=0.2, has_whole_x=True))
    best = "" if len(inputs.methods) <= _MOST_METHODS else ", the best with each loss,"
    means_of = [{loss: fmean(scores) for _, loss, scores in some} for some in by_metric.values()]
    return ReportFigure(
        title="Progress over the years",
        sentence=f"{' and '.join(map(heading, by_metric))} of {len(dated)} methods{best} by the year of their loss "
        f"({inputs.count(sum(len(scores) for *_, scores in dated))}), each with a fitted line."
        f"{marked if claims else ''} As in figure 2 of Musgrave et al., 2020.",
        draw=panels(drawn),
        height=4.0,
        columns=("what", "year", *map(heading, by_metric)),
        rows=[
            *((loss, year, *(some.get(loss) for some in means_of)) for year, loss, _ in dated),
            *((f"claimed: {one.label}", one.year, one.value, *[None] * (len(means_of) - 1)) for one in claims),
        ],
        answer=f"Over {dated[0][0]} to {dated[-1][0]}, scores of {len(dated)} methods move per year of the loss: "
        f"{'; '.join(slopes)}.",
    )
