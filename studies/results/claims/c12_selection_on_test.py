"""C12: how much the best epoch by test score reports above the one validation chose, by the number of looks."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from scipy import stats
from studies.results.arithmetic import Mean, at_once, over_methods
from studies.results.figures import line_panels
from studies.results.page import (
    DATA,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    above,
    gain_in_words,
    in_parts,
    interval,
    listed,
    panel_size,
    points,
    signed,
    table,
)
from studies.results.records import ExportedRun
from studies.results.select import finals_by_data

METRICS = {"recall@1": "Recall@1", "map@r": "MAP@R"}
JUDGED = "recall@1"
LOOKS = (1, 2, 4, 8, 16, 32)
FEW, MANY = 8, 32
#: verdicts per data set
N_PARTS = 2


def page(runs: Sequence[ExportedRun], matters: Mapping[str, float]) -> Page | None:
    """Return the page of long runs whose test split was watched: those of C18."""
    found = {data: some for data, some in finals_by_data(runs, DATA).items() if min(map(_n_looks, some)) >= MANY}
    if not found:
        return None
    level = at_once(N_PARTS * len(found))
    inflated = {data: {n: _inflated(some, n, level=level) for n in LOOKS} for data, some in found.items()}
    grown = {data: _growth(some, level) for data, some in found.items()}
    return Page(
        name="c12_selection_on_test",
        title="C12. What does selection on the test set add?",
        question=(
            "How much higher is the best epoch on the test classes than the epoch that validation classes choose, and "
            "does it grow with the number of epochs that are looked at?"
        ),
        source=(
            "Musgrave et al., 2.3: papers look at test accuracy at every checkpoint and report the best, which "
            "inflates what they report."
        ),
        fixed="with the first exported runs (16 November 2026), for 8 looks alone",
        counts=(
            "selection on test inflates if the mean of what the best of 32 test epochs has over the epoch that "
            "validation MAP@R selected (one mean per method, t over the methods) is above a tenth of what the best "
            "method of C1 gains in Recall@1 over the untrained network, by its interval, and does not if the interval "
            "is below; it grows with looking if 32 looks add more than 8 do, by the interval of the difference. The "
            "intervals of this page hold at once at 95 %."
        ),
        short="The best test epoch has more points of Recall@1 than the one that validation MAP@R chose: "
        + ", ".join(
            f"{points(one[FEW].mean)} after 8 looks, {points(one[MANY].mean)} after 32 ({SHORT[data]})"
            for data, one in inflated.items()
        )
        + ".",
        headline=_headline(found),
        answers=[
            answer
            for data in found
            for answer in _answers(data, inflated[data][MANY], grown[data], matters.get(data, 0.0))
        ],
        sections=[
            Section(heading="By the number of looks", text=_by_looks(found)),
            Section(heading="By the metric that selects", text=_by_metric(found)),
            Section(heading="Does the order of methods change?", text=_orders(found)),
        ],
        pictures=[
            Picture(
                name="c12_looks",
                caption=(
                    "Points of test Recall@1 that the best of so many test epochs has over the epoch selected on "
                    "validation classes, mean over methods; selected by validation MAP@R and by validation Recall@1."
                ),
                draw=line_panels({data: _curves(some) for data, some in found.items()}, "looks", "points of Recall@1"),
                size=panel_size(len(found)),
            )
        ],
        limits=[
            "Epochs alone: settings were chosen on validation classes in both scores. Settings chosen on test classes "
            "would add to it.",
            "Selecting by MAP@R and judging by Recall@1 is part of the difference, and of its growth with the number "
            "of looks: the second table selects by the metric that is judged.",
            "Heads on frozen features of two data sets, 3 seeds.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _headline(found: Mapping[str, Sequence[ExportedRun]]) -> str:
    """Return the finding: first where no mismatch of metrics is counted."""

    def added(by: str, n: int) -> str:
        return listed([f"{points(_inflated(some, n, by=by).mean)} ({SHORT[data]})" for data, some in found.items()])

    return (
        f"**Choosing the epoch on the test set flatters.** The best of {MANY} epochs has {added(JUDGED, MANY)} points "
        "of Recall@1 more than the one that held-out classes choose by Recall@1, and "
        f"{added('map@r', MANY)} more than the one they choose by MAP@R; the best of many is never worse."
    )


def _n_looks(run: ExportedRun) -> int:
    return max(run.epochs.get(("test", JUDGED), {0: 0.0}))


def inflation(run: ExportedRun, n: int, *, by: str = "map@r", judged: str = JUDGED) -> float:
    """Return what the best of the first `n` test epochs has over the one that validation selects among them."""
    tested = run.epochs["test", judged]
    best = max(value for epoch, value in tested.items() if 0 < epoch <= n)
    return best - tested[selected_epoch(run, n, by=by)]


def selected_epoch(run: ExportedRun, n: int, *, by: str) -> int:
    """Return which of the first `n` trained epochs validation selects; of equal ones the first, as a run does."""
    validated = run.epochs["validation", by]
    return max((epoch for epoch in validated if 0 < epoch <= n), key=lambda epoch: (validated[epoch], -epoch))


def _inflated(runs: Sequence[ExportedRun], n: int, *, level: float = 0.95, **by: str) -> Mean:
    """Return the mean inflation with an interval over methods, for runs of one method are alike."""
    return over_methods(runs, lambda run: inflation(run, n, **by), level=level)


def _growth(runs: Sequence[ExportedRun], level: float) -> Mean:
    return over_methods(runs, lambda run: inflation(run, MANY) - inflation(run, FEW), level=level)


def _answers(data: str, gain: Mean, growth: Mean, line: float) -> list[Answer]:
    return in_parts(
        data,
        (
            (
                "selection on test inflates",
                above(gain, line),
                f"The best of 32 test epochs has {points(gain.mean)} points of Recall@1 more on average, interval "
                f"{interval(gain.low, gain.high)}; {points(line)} would matter.",
            ),
            (
                "it grows with looking (MAP@R selects)",
                above(growth, 0),
                f"32 looks add {signed(growth.mean)} points to what 8 add, {interval(growth.low, growth.high)}.",
            ),
        ),
    )


def _by_looks(found: Mapping[str, Sequence[ExportedRun]]) -> str:
    rows = []
    for data, some in found.items():
        for n in LOOKS[2:]:
            single = sorted(inflation(run, n) for run in some)
            tenth = points(single[int(0.9 * (len(single) - 1))])
            mean = gain_in_words(_inflated(some, n))
            rows.append([SHORT[data], str(n), str(len(single)), mean, tenth, points(single[-1])])
    header = ["data", "looks", "runs", "mean, points of Recall@1", "one run in ten gains more than", "largest"]
    return table(header, rows)


def _by_metric(found: Mapping[str, Sequence[ExportedRun]]) -> str:
    rows = []
    for data, some in found.items():
        for judged, name in METRICS.items():
            for n in (FEW, MANY):
                cells = [gain_in_words(_inflated(some, n, by=by, judged=judged)) for by in ("map@r", "recall@1")]
                rows.append([f"{SHORT[data]}, {name}, {n} looks", *cells])
    header = ["reported", "validation MAP@R selects", "validation Recall@1 selects"]
    return table(header, rows)


def _orders(found: Mapping[str, Sequence[ExportedRun]]) -> str:
    rows = []
    for data, some in found.items():
        fair: dict[str, list[float]] = {}
        best: dict[str, list[float]] = {}
        for run in some:
            tested = {epoch: value for epoch, value in run.epochs["test", JUDGED].items() if epoch > 0}
            best.setdefault(run.method, []).append(max(tested.values()))
            fair.setdefault(run.method, []).append(max(tested.values()) - inflation(run, MANY))
        orders = [{method: fmean(values) for method, values in one.items()} for one in (fair, best)]
        tau = stats.kendalltau(list(orders[0].values()), list(orders[1].values())).statistic
        rows.append([DATA[data], *(max(one, key=lambda name: one[name]) for one in orders), f"{tau:.2f}"])
    header = ["data", "first by validation", "first by test maxima", "Kendall's tau of both orders"]
    return table(header, rows, n_text=3)


def _curves(runs: Sequence[ExportedRun]) -> list[tuple[str, list[float], list[float]]]:
    return [
        (
            f"selected by {name}",
            [float(n) for n in LOOKS],
            [100 * _inflated(runs, n, by=by).mean for n in LOOKS],
        )
        for by, name in METRICS.items()
    ]
