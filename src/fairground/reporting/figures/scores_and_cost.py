"""Scores with intervals and single runs, learning curves, and what a score costs in time and memory."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from statistics import fmean

from fairground.reporting.drawing import SOLID, Bar, Key, Line, Panel, Points, panels, series_of
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.reporting.headings import clean, duration, show_interval, size
from fairground.reporting.tables import ResultTable

PAGE_ORDER = {"scores": 0, "learning_curves": 1, "cost": 110}
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
    known = [(label, series, cell, cell.interval) for label, series, cell in cells if cell.interval is not None]
    drawn = [(*one, [factor * value for value in _drawn_runs(one[2].values)]) for one in known[:MOST_BARS]]
    values = [value for *_, runs in drawn for value in runs]
    is_wide = bool(values) and min(values) >= 0 and max(values) - min(values) >= _VISIBLE * max(values)
    is_from_zero, most = len(known) == 1 or is_wide, max(values, default=1.0)
    items: list[Bar | Line | Points] = []
    for row, (_, series, _, interval, runs) in enumerate(drawn):
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
    is_thinned = any(len(cell.values) > MOST_DOTS for _, _, cell, _ in known)
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


def _drawn_runs(values: Sequence[float]) -> Sequence[float]:
    if len(values) <= MOST_DOTS:
        return values
    ordered = sorted(values)
    return [ordered[round(place * (len(ordered) - 1) / (MOST_DOTS - 1))] for place in range(MOST_DOTS)]


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
    )


def curves_of(table: ResultTable) -> dict[str, Line]:
    """Return the mean and range over seeds at each epoch, best method first; one that was measured once has none."""
    metric, factor = table.primary, factor_of(table.primary)
    found = {}
    for rank, row in enumerate(table.rows):
        at: dict[int, list[float]] = {}
        for epoch in (epoch for record in row.method.records for epoch in record.epochs):
            if metric in epoch.validation:
                at.setdefault(epoch.epoch, []).append(factor * epoch.validation[metric])
        if len(at) > 1:
            epochs, values = zip(*sorted(at.items()), strict=True)
            line = Line(x=epochs, y=tuple(map(fmean, values)), series=series_of(rank), width=0.8, alpha=0.45)
            if line.series is not None:
                low, high = tuple(map(min, values)), tuple(map(max, values))
                line = replace(line, width=2.0, alpha=1.0, low=low, high=high)
            found[row.label] = line
    return found


def curve_panel(table: ResultTable) -> Panel:
    lines = list(curves_of(table).values())[::-1]  # the best on top
    return Panel(
        items=lines, x="epoch", y=f"{axis_of(table.primary)} on validation classes", margin=0.02, has_whole_x=True
    )


def curve_keys(table: ResultTable) -> list[Key]:
    return [Key(text=label, series=line.series, kind="line") for label, line in curves_of(table).items()]


def learning_curves(inputs: FigureInputs) -> ReportFigure | None:
    curves, panel = curves_of(inputs.table), curve_panel(inputs.table)
    if not curves:
        return None
    listed = [f"{clean(label)} ends at {line.y[-1]:.2f}" for label, line in curves.items()]
    return ReportFigure(
        title="Learning curves",
        sentence=f"{panel.y} after each epoch, mean and range over seeds: {'; '.join(listed[:12])}.",
        draw=panels([panel], keys=curve_keys(inputs.table)),
        height=4.2,
        is_for_page=False,
    )


def cost(inputs: FigureInputs) -> ReportFigure | None:
    rows = [
        (
            method.label,
            fmean(values),
            fmean(run.provenance.wall_seconds for run in method.done),
            fmean(run.provenance.peak_memory_bytes for run in method.done),
        )
        for method in inputs.methods
        if (values := inputs.scores(method))
    ]
    if len(rows) < 2:
        return None
    axis = axis_of(inputs.metric)
    n_runs = sum(len(inputs.scores(method)) for method in inputs.methods)
    machines = len({run.provenance.hardware for run in inputs.done})
    caveat = f" The runs were made on {machines} different machines: times do not compare." if machines > 1 else ""
    # The best last, to be on top; neighbours of one colour together, for there may be hundreds.
    alike = [(series, list(some)) for series, some in groupby(reversed(rows), key=lambda row: inputs.series[row[0]])]
    drawn = []
    for name, column, unit in (("seconds per run", 2, 1.0), ("peak memory, MB", 3, 1e6)):
        spent = {row[0]: float(row[column]) / unit for row in rows}
        items = [
            Points(x=[spent[row[0]] for row in some], y=[row[1] for row in some], series=series, size=8, alpha=0.85)
            for series, some in alike
        ]
        is_wide = max(spent.values()) > 20 * max(min(spent.values()), 1e-9)
        drawn.append(Panel(items=items, x=name, y=axis, log="x" if is_wide else "", margin=0.15))
    return ReportFigure(
        title="Accuracy against time and memory",
        sentence=f"Mean {axis} against the mean time and peak memory of a run, {count(len(rows), 'method')}, "
        f"{count(n_runs, 'run')}. Up and to the left is better.{caveat}",
        draw=panels(drawn, keys=[Key(text=label, series=inputs.series[label]) for label, *_ in rows]),
        height=3.7,
        columns=("method", axis, "time", "peak memory"),
        rows=[(label, score, duration(seconds), size(memory)) for label, score, seconds, memory in rows],
    )
