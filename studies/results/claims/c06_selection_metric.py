"""C6: is MAP@R the steadier metric to select by? The same runs, their epochs chosen by three validation metrics."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from studies.results.arithmetic import Mean, at_once, over_methods
from studies.results.figures import line_panels
from studies.results.page import (
    DATA,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    effect_of,
    effect_rule,
    interval,
    points,
    signed,
    table,
)
from studies.results.records import ExportedRun
from studies.results.select import by_data, finals

METRICS = {"recall@1": "Recall@1", "r_precision": "R-Precision", "map@r": "MAP@R"}


def page(runs: Sequence[ExportedRun], matters: Mapping[str, float]) -> Page | None:
    """Return the page of runs whose every epoch was measured on validation and test."""
    found = {data: [run for run in finals(some) if _has_curves(run)] for data, some in by_data(runs, DATA).items()}
    found = {data: some for data, some in found.items() if some}
    if not found:
        return None
    roughness = {data: {metric: _roughness(some, metric) for metric in METRICS} for data, some in found.items()}
    gains = {data: _gain(some, at_once(len(found))) for data, some in found.items()}
    return Page(
        name="c06_selection_metric",
        title="C6. Is MAP@R the steadier metric to select by?",
        question="Does choosing the epoch by validation MAP@R instead of validation Recall@1 give better test scores?",
        source=(
            "Musgrave et al., 2.2 and 3.2: MAP@R rewards well-ordered retrieval, is more stable, and is used for "
            "selection."
        ),
        fixed="with the first exported runs (16 November 2026)",
        counts=effect_rule(
            "The mean difference in test Recall@1 between runs whose epoch validation MAP@R selects and the same runs "
            "selected by validation Recall@1 (one mean per method, t over the methods)",
            len(found),
        ),
        short="Selecting epochs by MAP@R instead of Recall@1 changes test Recall@1: "
        + ", ".join(f"{SHORT[data]} {100 * gain.mean:+.2f}" for data, gain in gains.items())
        + " points.",
        answers=[_answer(data, gain, matters.get(data, 0.0)) for data, gain in gains.items()],
        sections=[
            Section(heading="Test scores by the metric that selects", text=_table(found)),
            Section(heading="How rough the curves are", text=_rough_table(roughness)),
        ],
        pictures=[
            Picture(
                name="c06_curves",
                caption=(
                    "Validation curves averaged over all runs, in points above the first epoch: where the best epoch "
                    "is by each metric. Every panel has a scale of its own."
                ),
                draw=line_panels({data: _curves(some) for data, some in found.items()}, "epoch", "points gained"),
                size=(3.2 * min(3, len(found)), 2.8 * -(-len(found) // 3)),
            )
        ],
        limits=[
            "Epochs of one run are chosen; how settings would be chosen by other metrics needs the test scores of "
            "trials, which stay sealed.",
            "On pets a handful of validation classes select, which are easy and say little about the test classes.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _has_curves(run: ExportedRun) -> bool:
    return all(len(run.epochs.get((split, metric), {})) > 2 for split in ("validation", "test") for metric in METRICS)


def _selected(run: ExportedRun, by: str, judged: str) -> float:
    looks = {epoch: value for epoch, value in run.epochs["validation", by].items() if epoch > 0}
    best = max(looks, key=lambda epoch: (looks[epoch], -epoch))
    return run.epochs["test", judged][best]


def _gain(runs: Sequence[ExportedRun], level: float) -> Mean:
    def gained(run: ExportedRun) -> float:
        return _selected(run, "map@r", "recall@1") - _selected(run, "recall@1", "recall@1")

    return over_methods(runs, gained, level=level)


def _answer(data: str, gain: Mean, line: float) -> Answer:
    sentence = (
        f"Mean difference in test Recall@1: {100 * gain.mean:+.2f} points, interval {interval(gain.low, gain.high)}; "
        f"{points(line)} would matter."
    )
    return Answer(data=data, verdict=effect_of(gain, line), sentence=sentence)


def _table(found: dict[str, list[ExportedRun]]) -> str:
    rows = []
    for data, some in found.items():
        for by, name in METRICS.items():
            scores = [points(fmean(_selected(run, by, judged) for run in some)) for judged in METRICS]
            rows.append([f"{SHORT[data]}, by {name}", *scores])
        best = [points(fmean(max(list(run.epochs["test", judged].values())[1:]) for run in some)) for judged in METRICS]
        rows.append([f"{SHORT[data]}, by test (too high)", *best])
    changes = []
    for data, some in found.items():
        change = fmean(_selected(run, "map@r", "map@r") - _selected(run, "recall@1", "map@r") for run in some)
        changes.append(f"{SHORT[data]} {signed(change)}")
    note = f"In test MAP@R, selecting by MAP@R instead of Recall@1 changes: {', '.join(changes)} points."
    return f"{table(['epoch selected on validation', *(f'test {name}' for name in METRICS.values())], rows)}\n\n{note}"


def _roughness(runs: Sequence[ExportedRun], metric: str) -> float:
    """Return the mean share of all changes from epoch to epoch that go down, by size: 0 for a curve that only rises."""
    shares = []
    for run in runs:
        curve = [value for _, value in sorted(run.epochs["validation", metric].items())]
        steps = [after - before for before, after in pairwise(curve)]
        total = sum(map(abs, steps))
        if total > 0:
            shares.append(sum(-step for step in steps if step < 0) / total)
    return fmean(shares) if shares else 0.0


def _rough_table(roughness: dict[str, dict[str, float]]) -> str:
    rows = [[DATA[data], *(f"{100 * one[metric]:.0f} %" for metric in METRICS)] for data, one in roughness.items()]
    note = "Of all movement of the validation curve, the share that goes down."
    return f"{table(['data', *METRICS.values()], rows)}\n\n{note}"


def _curves(runs: Sequence[ExportedRun]) -> list[tuple[str, list[float], list[float]]]:
    lines = []
    for metric, name in METRICS.items():
        curves = [run.epochs["validation", metric] for run in runs]
        epochs = sorted(set.intersection(*(set(curve) for curve in curves)))
        mean = [fmean(curve[epoch] for curve in curves) for epoch in epochs]
        lines.append((name, [float(epoch) for epoch in epochs], [100 * (value - mean[0]) for value in mean]))
    return lines
