"""Toy data: what each metric says about toy spaces, and lines on the circle. Which metrics agree, and how smoothly they
move during training.

Formula
    correlations     Pearson's r over runs; undefined for a metric that is the same in all runs
    autocorrelation  r = sum_t (x_t - m)(x_t+1 - m) / sum_t (x_t - m)^2, x_t the score at the t-th validation of one
                     run, m their mean; without the untrained network, runs with fewer than `LEAST_EPOCHS` and constant
                     scores

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 1 (three toy spaces) and section
    3.2 (autocorrelation: 0.73 for Recall@1 and 0.81 for MAP@R over their experiments).
    Roth et al., "Revisiting training strategies", ICML 2020, figures 4 (correlations), 6 and 11 (lines on the circle).
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from fairground.comparison import correlation_interval, join_words, seed_of
from fairground.records import grouped
from fairground.reporting import DOTTED, SOLID, UNFAIR, Palette, arrays_in, heading, shorten
from fairground.reporting.drawing import Bar, Line, Panel, Points, panels, points_by_class
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, side_of, signed
from fairground.reporting.figures.effects_of_settings import mean_change

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = {"toy_spaces": 5, "toy_lines": 6, "correlations": 40, "autocorrelation": 85}
#: a correlation of fewer runs is mostly chance
LEAST_RUNS = 5
LEAST_EPOCHS = 4
#: points between toy spaces that a metric cannot tell apart
ALIKE = 1
_MOST_METRICS = 14
#: autocorrelations as MLRC states them for all of its experiments
MLRC = {"recall@1": 0.73, "precision@1": 0.73, "map@r": 0.81}


def toy_spaces(inputs: FigureInputs) -> ReportFigure | None:
    found: list[tuple[dict[str, float], str, Panel]] = []
    for method in inputs.methods if inputs.key[0] == "toy_spaces" else ():
        folder = inputs.runs.folders.get(method.done[0].name)
        arrays = None if folder is None else arrays_in(folder.embeddings, ["embeddings", "labels"])
        if arrays is None:
            continue
        scores = {metric: inputs.scores(method, metric)[0] for metric in inputs.table.metrics}
        shown = [f"{heading(metric)} {value:z.1f}" for metric, value in scores.items()]
        panel = Panel(
            items=points_by_class(*arrays, size=2, alpha=0.6),
            title=method.label.removeprefix(UNFAIR),
            x="\n".join(", ".join(shown[i : i + 2]) for i in range(0, len(shown), 2)),
            is_map=True,
        )
        found.append((scores, panel.title, panel))
    if not found:
        return None
    found.sort(key=lambda space: space[0].get("map@r", 0.0))
    spans = {metric: [scores[metric] for scores, *_ in found] for metric in inputs.table.metrics}
    alike = [heading(metric) for metric, values in spans.items() if max(values) - min(values) <= ALIKE]
    apart = []
    for metric in (metric for metric in spans if heading(metric) not in alike):
        values = [f"{scores[metric]:z.1f} ({label})" for scores, label, _ in found]
        apart.append(f"{heading(metric)} {', '.join(values)}")
    return ReportFigure(
        title="Toy spaces and what each metric says",
        sentence=f"{count(len(found), 'embedding space')} of two classes; nothing is trained. The spaces are our own, "
        "after the description of figure 1 of Musgrave et al., 2020.",
        draw=panels([panel for *_, panel in found], columns=3),
        height=4.2,
        columns=("space", *map(heading, inputs.table.metrics)),
        rows=[(label, *(f"{value:z.1f}" for value in scores.values())) for scores, label, _ in found],
        answer=f"{join_words(alike) if alike else 'No metric'} {'is' if len(alike) < 2 else 'are'} the same in all "
        f"{len(found)} spaces to within {count(ALIKE, 'point')}; these differ: {'; '.join(apart) or 'none'}.",
    )


def toy_lines(inputs: FigureInputs) -> ReportFigure | None:
    """Where a toy network puts its lines on the circle, and how even its singular values are."""
    circles: list[Panel] = []
    shares: dict[str, dict[int, float]] = {}
    ranges: dict[str, str] = {}
    for method in inputs.table.methods if inputs.key[0] == "toy_lines" else ():
        found = {
            seed_of(run): share for run in method.done if (share := run.score("largest_share", "train")) is not None
        }
        folder = inputs.runs.folders.get(method.done[0].name) if method.done else None
        learned = None if folder is None else arrays_in(folder.analyses, ["spectrum/points", "spectrum/classes"])
        unseen = None if folder is None else arrays_in(folder.embeddings, ["embeddings", "labels"])
        if not found or learned is None or unseen is None or learned[0].shape[1] != 2 or unseen[0].shape[1] != 2:
            continue
        shares[method.label] = found
        angle = np.linspace(0, 2 * np.pi, 200)
        items: list[Line | Points] = [Line(x=np.cos(angle).tolist(), y=np.sin(angle).tolist(), series="rule", width=1)]
        # Test points are on a wider circle, or they would be behind the training points.
        for (points, classes), sign, radius in ((learned, "o", 1.0), (unseen, "X", 1.25)):
            unit = radius * points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
            items += points_by_class(unit, classes, sign=sign, size=4.5)
        reach = f"{min(found.values()):.2f} to {max(found.values()):.2f}"
        ranges[method.label] = reach
        circles.append(Panel(items=items, title=method.label, x=f"larger singular value {reach}", is_map=True))
    if not shares:
        return None
    from fairground.datasets.toy_lines import LINES

    both = zip(LINES[inputs.table.methods[0].settings["data.lines"]], (SOLID, DOTTED), strict=True)
    drawn = [
        Line(x=(x, to_x), y=(y, to_y), series=series, dash=dash, width=3)
        for lines, dash in both
        for series, (x, y, to_x, to_y) in enumerate(lines)
    ]
    data = Panel(items=drawn, title="the lines (test: dotted)", is_map=True)
    (first, base), *others = shares.items()
    apart = {label: [some[seed] - base[seed] for seed in some if seed in base] for label, some in others}
    changes = {label: mean_change(some, n_claims=len(others)) for label, some in apart.items() if some}
    sides = grouped((side_of(change), f"{label} ({signed(change)})") for label, change in changes.items())
    told = [f"{side} with {', '.join(labels)}" for side, labels in sides.items()]
    recalls = {method.label: inputs.scores(method, inputs.habitual) for method in inputs.table.methods}
    return ReportFigure(
        title="Lines on the circle",
        sentence=f"Embeddings of the first seed of {count(len(shares), 'variant')}: training lines as dots, test lines "
        "as crosses further out; and the larger singular value's share over all seeds, 0.5 being even. Changes are "
        "paired by seed; their intervals hold at once at 95 %. As in figures 6 and 11 of Roth et al., 2020.",
        draw=panels([data, *circles], columns=3),
        height=3.2 * -(-(len(circles) + 1) // 3),
        columns=("variant", "larger singular value's share", f"test {axis_of(inputs.habitual)}", "seeds"),
        rows=[
            (label, ranges[label], f"{min(recalls[label]):.1f} to {max(recalls[label]):.1f}", len(some))
            for label, some in shares.items()
        ],
        answer=f"The larger singular value has a share of {ranges[first]} with {first}, 0.5 being even; it is "
        f"{'; '.join(told)}.",
    )


def correlations(inputs: FigureInputs) -> ReportFigure | None:
    metrics = inputs.table.metrics[:_MOST_METRICS]
    scores = [[run.score(metric, inputs.table.split) for metric in metrics] for run in inputs.done]
    runs = [row for row in scores if None not in row]
    if len(metrics) < 3 or len(runs) < LEAST_RUNS:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.corrcoef(np.array(runs, dtype=float).T)
    names = [heading(metric) for metric in metrics]
    # Runs of one method are alike: they count as one point.
    pairs = {
        at: correlation_interval(float(r), len(inputs.methods)) for at, r in np.ndenumerate(matrix) if not np.isnan(r)
    }
    i, j = min(pairs, key=lambda at: pairs[at].mean, default=(0, 0))
    weakest = f" {names[i]} and {names[j]} agree least: r = {signed(pairs[i, j])}." if i != j else ""

    def draw(figure: "Figure", palette: Palette) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.add_subplot()
        for (i, j), value in np.ndenumerate(matrix):
            if np.isnan(value):
                continue
            colour = palette["series-0" if value >= 0 else "series-1"]
            # Pale enough for dark text on every square.
            square = Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, color=colour, alpha=0.55 * abs(value), linewidth=0)
            axes.add_patch(square)
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=9, color=palette["ink"])
        n, short = len(names), [shorten(name, 14) for name in names]
        axes.set_xticks(range(n), short, rotation=45, ha="right", color=palette["ink"], fontsize=9.5)
        axes.set_yticks(range(n), short, color=palette["ink"], fontsize=9.5)
        axes.set_xlim(-0.5, n - 0.5)
        axes.set_ylim(n - 0.5, -0.5)
        axes.tick_params(length=0)
        axes.set_frame_on(False)

    return ReportFigure(
        title="Which metrics agree",
        sentence=f"Correlation of every two {inputs.table.split} metrics over {inputs.count(len(runs))}: 1 means that "
        f"both rank runs alike, so one of them is enough.{weakest} The runs of a method count as one point of the 95 % "
        "intervals. As in figure 4 of Roth et al., 2020.",
        draw=draw,
        height=1.4 + 0.42 * len(names),
        columns=("metric", *names),
        rows=[
            (name, *(signed(pairs[at]) if (at := (i, j)) in pairs else None for j in range(len(names))))
            for i, name in enumerate(names)
        ],
    )


def lag_one(scores: Sequence[Sequence[Sequence[float]]]) -> np.ndarray:
    """Return the autocorrelations of scores, (runs, epochs, metrics); NaN where they are constant."""
    x = np.array(scores)
    apart = x - x.mean(axis=1, keepdims=True)
    r = (apart[:, :-1] * apart[:, 1:]).sum(axis=1) / np.maximum((apart**2).sum(axis=1), 1e-300)
    return np.where(x.min(axis=1) == x.max(axis=1), np.nan, r)


def autocorrelation(inputs: FigureInputs) -> ReportFigure | None:
    done = (run for run in inputs.folds if run.state == "done")
    scored = ([row.validation for row in run.epochs if row.epoch > 0 and row.validation] for run in done)
    long = ((tuple(rows[0]), rows) for rows in scored if len(rows) >= LEAST_EPOCHS)
    tables = grouped(((names, len(rows)), [[row[name] for name in names] for row in rows]) for names, rows in long)
    found = ((names[i], r) for (names, _), runs in tables.items() for row in lag_one(runs) for i, r in enumerate(row))
    by_metric = grouped((metric, float(r)) for metric, r in found if not math.isnan(r))
    most = max(map(len, by_metric.values()), default=0)
    if len(by_metric) < 2 or most < 2:
        return None
    smoothest = sorted(by_metric, key=lambda metric: -fmean(by_metric[metric]))
    names, means = [heading(metric) for metric in smoothest], [fmean(by_metric[metric]) for metric in smoothest]
    theirs = {row: MLRC[metric] for row, metric in enumerate(smoothest) if metric in MLRC}
    items: list[Bar | Points] = [
        *(Bar(row=row, value=r, series=0 if r >= 0 else 1) for row, r in enumerate(means)),
        Points(x=list(theirs.values()), y=list(theirs), series="ink", is_hollow=True),
    ]
    return ReportFigure(
        title="How smoothly each metric moves during training",
        sentence=f"Lag-one autocorrelation of each metric over the epochs of a run, mean over {count(most, 'run')}: "
        "near 1 a score moves smoothly, near 0 it jumps. Hollow marks are the values of Musgrave et al., 2020, section "
        "3.2: 0.73 for Recall@1, 0.81 for MAP@R.",
        draw=panels([Panel(items=items, rows=names, x="lag-one autocorrelation", has_zero_line=True)]),
        height=1.2 + 0.34 * len(names),
        columns=("metric", "autocorrelation", "runs", "MLRC"),
        rows=[(names[i], means[i], len(by_metric[smoothest[i]]), theirs.get(i)) for i in range(len(names))],
    )
