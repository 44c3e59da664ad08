"""C12: how much the best epoch by test score reports above the epoch that validation chose, in the same runs."""

from collections.abc import Sequence
from statistics import fmean

from scipy import stats
from studies.results.arithmetic import Mean, mean_of
from studies.results.figures import line_panels
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, interval, points, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import by_data, finals, means, values

#: half a point, the difference that does not matter elsewhere in this project
BOUND = 0.005
METRICS = {"recall@1": "Recall@1", "r_precision": "R-Precision", "map@r": "MAP@R"}


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of runs whose test split was watched."""
    found = {data: [run for run in finals(some) if _watched(run)] for data, some in by_data(runs, DATA).items()}
    found = {data: some for data, some in found.items() if some}
    if not found:
        return None
    gains = {data: {metric: _gain(some, metric) for metric in METRICS} for data, some in found.items()}
    return Page(
        name="c12_selection_on_test",
        title="C12. What does selection on the test set add?",
        question=(
            "How much higher is each metric's best epoch on the test classes than the epoch that validation "
            "classes choose?"
        ),
        source=(
            "Musgrave et al., 2.3: papers look at test accuracy at every checkpoint and report the best, which "
            "inflates what they "
            "report."
        ),
        counts=(
            "it holds (selection on test inflates noticeably) if the mean gain in Recall@1 is above half a point "
            "by its 95 % "
            "interval over methods; it does not hold if the interval lies below half a point."
        ),
        short="Reporting the best test epoch instead of the one that validation chose adds to Recall@1: "
        + ", ".join(f"{SHORT[data]} {points(one['recall@1'].mean)}" for data, one in gains.items())
        + " points.",
        answers=[_answer(data, one["recall@1"]) for data, one in gains.items()],
        sections=[
            Section(heading="Gain by metric", text=_table(found, gains)),
            Section(heading="Does the order of methods change?", text=_orders(found)),
        ],
        pictures=[
            Picture(
                name="c12_epochs",
                caption=(
                    "Mean Recall@1 over all runs by epoch, in per cent, each curve less its value before training: "
                    "validation classes and test classes."
                ),
                draw=line_panels(
                    {data: _curves(some) for data, some in found.items()}, "epoch", "Recall@1, points gained"
                ),
                size=(3.2 * min(3, len(found)), 2.8 * -(-len(found) // 3)),
            )
        ],
        limits=[
            "Epochs alone: settings were chosen on validation classes in both scores. Settings chosen on test "
            "classes would add "
            "to it.",
            f"Few epochs ({max(max(run.epochs['test', 'map@r']) for some in found.values() for run in some)} at "
            "most): the best of "
            "more looks is higher.",
            "Validation and test classes are disjoint, as in both papers' open-set task.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _watched(run: ExportedRun) -> bool:
    return len(run.epochs.get(("test", "map@r"), {})) > 1


def _gains(run: ExportedRun, metric: str) -> float:
    looks = {epoch: value for epoch, value in run.epochs["test", metric].items() if epoch > 0}
    return max(looks.values()) - run.scores["test", metric]


def _gain(runs: Sequence[ExportedRun], metric: str) -> Mean:
    """Return the mean gain with an interval over methods, for runs of one method are alike."""
    by_method: dict[str, list[float]] = {}
    for run in runs:
        by_method.setdefault(run.method, []).append(_gains(run, metric))
    return mean_of([fmean(some) for some in by_method.values()])


def _answer(data: str, gain: Mean) -> Answer:
    verdict = verdict_of(holds=gain.low > BOUND, fails=gain.high < BOUND)
    sentence = f"Recall@1 is {points(gain.mean)} points higher on average, interval {interval(gain.low, gain.high)}."
    return Answer(data=data, verdict=verdict, sentence=sentence)


def _table(found: dict[str, list[ExportedRun]], gains: dict[str, dict[str, Mean]]) -> str:
    rows = []
    for data, some in found.items():
        for metric, name in METRICS.items():
            single = sorted(_gains(run, metric) for run in some)
            gain = gains[data][metric]
            tenth = single[int(0.9 * (len(single) - 1))]
            cells = [f"{points(gain.mean)} {interval(gain.low, gain.high)}", points(tenth), points(single[-1])]
            rows.append([f"{SHORT[data]}, {name}", str(len(single)), *cells])
    return table(["metric", "runs", "mean gain", "one run in ten gains more than", "largest"], rows)


def _orders(found: dict[str, list[ExportedRun]]) -> str:
    rows = []
    for data, some in found.items():
        fair = means(values(some, "recall@1"))
        best: dict[str, list[float]] = {}
        for run in some:
            best.setdefault(run.method, []).append(run.scores["test", "recall@1"] + _gains(run, "recall@1"))
        inflated = {method: fmean(best[method]) for method in fair}
        tau = stats.kendalltau(list(fair.values()), list(inflated.values())).statistic
        winner = max(inflated, key=lambda method: inflated[method])
        rows.append([DATA[data], next(iter(fair)), winner, f"{tau:.2f}"])
    header = ["data", "first by validation", "first by test maxima", "Kendall's tau of both orders"]
    return table(header, rows, n_text=3)


def _curves(runs: Sequence[ExportedRun]) -> list[tuple[str, list[float], list[float]]]:
    lines = []
    for split in ("validation", "test"):
        curves = [run.epochs[split, "recall@1"] for run in runs]
        epochs = sorted(set.intersection(*(set(curve) for curve in curves)))
        lines.append((split, [float(e) for e in epochs], [100 * fmean(c[e] - c[0] for c in curves) for e in epochs]))
    return lines
