"""Scores with intervals and single runs, learning curves, what a score costs, and ranks."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from statistics import fmean

import numpy as np

from fairground.comparison import Interval, OverDatasets, fold_groups, seed_of, t_interval
from fairground.files import read_with_digest
from fairground.records import grouped
from fairground.reporting import SOLID, Bar, Line, Panel, Points, ResultTable, heading, panels, series_of
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.reporting.headings_and_units import clean, duration, show_interval, size

PAGE_ORDER = {"scores": 0, "learning_curves": 1, "score_against_shots": 12, "cost": 110}
#: of an episode: the scores of its images by the head of the run, and by the head trained on the images shown
SIDES = ("before", "after")
#: dots per method: more would only blacken the line and make the page heavy
MOST_DOTS = 100
#: methods drawn; the table has all of them
MOST_BARS = 40
#: below this share of the largest value, differences drawn from zero would be too small to see
_VISIBLE = 0.15


def score_panel(table: ResultTable) -> Panel:
    """Return a row per method by the metric of selection; from zero unless differences are small beside the values."""
    metric, factor = table.primary, factor_of(table.primary)
    cells = [(row.label, series_of(rank), row.cells[metric]) for rank, row in enumerate(table.rows) if row.cells]
    known = [(label, series, cell.values, cell.interval) for label, series, cell in cells if cell.interval is not None]
    drawn = []
    for label, series, every, interval in known[:MOST_BARS]:
        places = np.linspace(0, len(every) - 1, MOST_DOTS).round().astype(int)
        dots = every if len(every) <= MOST_DOTS else np.sort(every)[places]
        drawn.append((label, series, interval, [factor * float(value) for value in dots]))
    values = [value for *_, runs in drawn for value in runs]
    is_wide = bool(values) and min(values) >= 0 and max(values) - min(values) >= _VISIBLE * max(values)
    is_from_zero, most = len(known) == 1 or is_wide, max(values, default=1.0)
    items: list[Bar | Line | Points] = []
    for row, (_, series, interval, runs) in enumerate(drawn):
        mean, text = factor * interval.mean, show_interval(metric, interval)
        if is_from_zero:
            items.append(Bar(row=row, value=mean, series=series, height=0.5, alpha=0.22))
        if interval.low is not None and interval.high is not None:
            ends = factor * interval.low, factor * interval.high
            most = max(most, *ends)
            items.append(Line(x=ends, y=(row, row), series=series, dash=SOLID, width=2.2))
            items.append(Points(x=ends, y=(row, row), series=series, sign="|", size=9, alpha=1))
        # Below the line, where neither the interval nor the mean hides them.
        items.append(Points(x=runs, y=[row + 0.24] * len(runs), series=series, sign="o", size=4.5, alpha=0.6))
        items.append(Points(x=[mean], y=[row], series=series, sign="D", size=6.5, alpha=1, text=text))
    is_thinned = any(len(every) > MOST_DOTS for _, _, every, _ in known)
    some_runs = f"; {MOST_DOTS} runs per method drawn" if is_thinned else ""
    some_methods = f"; the first {MOST_BARS} of {len(known)} methods drawn" if len(known) > MOST_BARS else ""
    return Panel(
        items=items,
        rows=[label for label, *_ in drawn],
        x=f"{axis_of(metric)} on {table.split} classes{some_runs}{some_methods}",
        x_range=(0, 1.08 * most) if is_from_zero else None,
        y_range=(len(drawn) - 0.5, -0.75),
        margin=0.12,
    )


def scores(inputs: FigureInputs) -> ReportFigure | None:
    panel = score_panel(inputs.table)
    if not panel.rows:
        return None
    means = [item.text for item in panel.items if isinstance(item, Points) and item.text]
    listed = [f"{clean(label)} {text}" for label, text in zip(panel.rows, means, strict=True)]
    return ReportFigure(
        title="Scores",
        sentence=f"{panel.x}, mean, 95 % interval and single runs: {'; '.join(listed[:12])}.",
        draw=panels([panel]),
        height=0.9 + 0.42 * len(panel.rows),
        is_for_page=False,
        answer=f"Without training, {axis_of(inputs.metric)}: {'; '.join(listed[:12])}.",
    )


def curves_of(table: ResultTable) -> dict[str, Line]:
    """Return the mean and range over seeds at each epoch, best method first; one that was measured once has none."""
    metric, factor = table.primary, factor_of(table.primary)
    found = {}
    for rank, row in enumerate(table.rows):
        epochs = (epoch for record in row.records for epoch in record.epochs if metric in epoch.validation)
        at = grouped((epoch.epoch, factor * epoch.validation[metric]) for epoch in epochs)
        if len(at) > 1:
            places, values = zip(*sorted(at.items()), strict=True)
            line = Line(x=places, y=tuple(map(fmean, values)), series=series_of(rank), width=0.8, alpha=0.45)
            if line.series is not None:
                low, high = tuple(map(min, values)), tuple(map(max, values))
                line = line._replace(width=2.0, alpha=1.0, low=low, high=high)
            found[row.label] = line
    return found


def curve_panel(table: ResultTable, curves: Mapping[str, Line]) -> Panel:
    lines, y = list(curves.values())[::-1], f"{axis_of(table.primary)} on validation classes"  # the best on top
    return Panel(items=lines, x="epoch", y=y, margin=0.02, has_whole_x=True)


def learning_curves(inputs: FigureInputs) -> ReportFigure | None:
    curves = curves_of(inputs.table)
    if not curves:
        return None
    panel, at = (
        curve_panel(inputs.table, curves),
        {label: dict(zip(*line[:2], strict=True)) for label, line in curves.items()},
    )
    epochs = sorted({epoch for values in at.values() for epoch in values})
    folds = ", each the mean over its folds" if inputs.is_averaged else ""
    return ReportFigure(
        title="Learning curves",
        sentence=f"{panel.y} after each epoch: the mean over seeds, and a band from the lowest to the highest{folds}.",
        draw=panels([panel], keys=[(label, line.series) for label, line in curves.items()], kind="line"),
        height=4.2,
        columns=("method", *(f"{epoch:g}" for epoch in epochs)),
        rows=[(label, *map(values.get, epochs)) for label, values in at.items()],
    )


def cost(inputs: FigureInputs) -> ReportFigure | None:
    scored = [(method.label, method.done, scores) for method in inputs.methods if (scores := inputs.scores(method))]
    if len(scored) < 2:
        return None
    axis, means = axis_of(inputs.metric), {label: fmean(scores) for label, _, scores in scored}
    seconds = {label: fmean(run.provenance.wall_seconds for run in done) for label, done, _ in scored}
    memory = {label: fmean(run.provenance.peak_memory_bytes for run in done) for label, done, _ in scored}
    machines = len({run.provenance.hardware for run in inputs.done})
    caveat = f" The runs were made on {machines} different machines: times do not compare." if machines > 1 else ""
    # The best last, to be on top; neighbours of one colour together, for there may be hundreds.
    alike = [(series, list(some)) for series, some in groupby(reversed(means), key=inputs.series.__getitem__)]
    drawn = []
    for name, spent, unit in (("seconds per run", seconds, 1.0), ("peak memory, MB", memory, 1e6)):
        items = [
            Points(x=[spent[x] / unit for x in some], y=[means[x] for x in some], series=series, size=8, alpha=0.85)
            for series, some in alike
        ]
        is_wide = max(spent.values()) > 20 * max(min(spent.values()), 1e-9 * unit)
        drawn.append(Panel(items=items, x=name, y=axis, log="x" if is_wide else "", margin=0.15))
    return ReportFigure(
        title="Accuracy against time and memory",
        sentence=f"Mean {axis} against the mean time and peak memory of a run, {count(len(means), 'method')}, "
        f"{inputs.count(sum(len(scores) for *_, scores in scored))}. Up and to the left is better.{caveat}",
        draw=panels(drawn, keys=[(label, inputs.series[label]) for label in means]),
        height=3.7,
        columns=("method", axis, "time", "peak memory"),
        rows=[(label, mean, duration(seconds[label]), size(memory[label])) for label, mean in means.items()],
    )


def score_against_shots(inputs: FigureInputs) -> ReportFigure | None:
    """Draw what a few images of the test classes add, where episodes of the runs are stored."""
    stored = {name: read_with_digest(path) for name, path in inputs.runs.files("few_shot.json").items()}
    metric, factor, groups = inputs.metric, factor_of(inputs.metric), fold_groups(inputs.folds)
    drawn: dict[str, Line] = {}
    rows, steps, most = [], set(), 0
    for method in inputs.methods:
        kept = [(seed_of(run), stored[run.name]) for run in groups.get(method.key, ()) if run.name in stored]
        line: list[tuple[int, Interval]] = []
        by_shots = grouped((int(shots), (seed, one)) for seed, run in kept for shots, one in run.items())
        for shots, found in sorted(by_shots.items()):
            some = [(seed, one) for seed, run in found for one in run["episodes"] if metric in one["after"]]
            if not some:
                continue
            by_seed = {
                side: grouped((seed, factor * one[side][metric]) for seed, one in some).values() for side in SIDES
            }
            means = {side: [fmean(values) for values in each] for side, each in by_seed.items()}
            # Of a single run the intervals are over its episodes.
            before, after = (t_interval(means[side] if len(found) > 1 else next(iter(by_seed[side]))) for side in SIDES)
            line += [(shots, after)] if line else [(0, before), (shots, after)]
            rows.append((method.label, shots, before.mean, after.mean, after.low, after.high))
            steps |= {run["steps"] for _, run in found}
            most = max(most, len(means["after"]) if len(found) > 1 else 0)
        if line:
            ends = [(span.low, span.high) if span.low is not None else (span.mean, span.mean) for _, span in line]
            low, high = zip(*ends, strict=True)
            x, y = [shots for shots, _ in line], [span.mean for _, span in line]
            drawn[method.label] = Line(x=x, y=y, series=inputs.series[method.label], low=low, high=high)
    if not drawn:
        return None
    panel = Panel(items=[*drawn.values()], x="images shown of every test class", y=axis_of(metric), has_whole_x=True)
    over = f"up to {inputs.count(most)} per method" if most else "episodes of one run"
    return ReportFigure(
        title="Score against shots",
        sentence=f"{heading(metric)} of the other test images after the head was trained on a few of every test class "
        f"({' or '.join(map(str, sorted(steps)))} steps), which plain scores never see; 0 is the head before, on the "
        f"images left by the fewest shots. Shades are 95 % intervals over {over}.",
        draw=panels([panel], columns=1, keys=[(label, line.series) for label, line in drawn.items()], kind="line"),
        height=4.2,
        columns=("method", "images", "before", "after", "low", "high"),
        rows=rows,
    )


def ranks_over_datasets(found: OverDatasets, *, metric: str) -> ReportFigure:
    items: list[Line | Points] = []
    some = found.aggregates[:MOST_BARS]
    for row, one in enumerate(some):
        items.append(Line(x=(one.rank_low, one.rank_high), y=(row, row), series=series_of(row), dash=SOLID))
        mark = Points(x=[one.rank], y=[row], series=series_of(row), sign="D", alpha=1, text=f"{one.rank:.2f}")
        items.append(mark)
    panel = Panel(items=items, rows=[one.name for one in some], x="mean rank", y_range=(len(some) - 0.5, -0.75))
    return ReportFigure(
        name="ranks",
        title="Mean ranks",
        sentence=f"Mean rank by {heading(metric)} over {count(len(found.datasets), 'data set')}, 1 being best; the "
        f"intervals of all methods hold at once at {100 * found.level:g} %.",
        draw=panels([panel]),
        height=0.9 + 0.42 * len(some),
        columns=("method", "mean rank", "low", "high"),
        rows=[(one.name, one.rank, one.rank_low, one.rank_high) for one in found.aggregates],
    )


def score_against_distance(tables: Mapping[str, ResultTable], labels: Sequence[str]) -> ReportFigure | None:
    """Draw each method's scores on splits of rising distance, where the splits of all tables have one."""
    found: list[tuple[float, ResultTable]] = []
    for table in tables.values():
        distances = {run.score("class_distance", "train") for row in table.rows for run in row.done}
        if len(distances) == 1 and (distance := distances.pop()) is not None:
            found.append((distance, table))
    if len(found) < len(tables):
        return None
    found.sort(key=itemgetter(0))
    metric, across = found[0][1].primary, [distance for distance, _ in found]
    factor, lines, rows = factor_of(metric), [], []
    for rank, label in enumerate(labels):
        spans = [row.cells[metric].interval for _, table in found for row in table.rows if row.label == label]
        known = [span for span in spans if span is not None]
        means, halves = [factor * span.mean for span in known], [factor * (span.half_width or 0) for span in known]
        low, high = ([mean + sign * half for mean, half in zip(means, halves, strict=True)] for sign in (-1, 1))
        lines.append(Line(x=across, y=means, series=series_of(rank), low=low, high=high))
        rows += [(label, *row) for row in zip(across, means, low, high, strict=True)]
    panel = Panel(items=lines, x="Fréchet distance of training and test classes", y=axis_of(metric))
    return ReportFigure(
        name="score_against_distance",
        title="Score against distance",
        sentence=f"{heading(metric)} on {count(len(found), 'split')} whose test classes are further and further from "
        "the training classes; shades are 95 % intervals over runs. Fewer test classes are easier by themselves: where "
        "their numbers differ, compare methods at one distance.",
        draw=panels(
            [panel], columns=1, keys=[(label, series_of(rank)) for rank, label in enumerate(labels)], kind="line"
        ),
        height=4.2,
        columns=("method", "distance", "mean", "low", "high"),
        rows=rows,
    )
