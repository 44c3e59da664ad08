"""C8: what joining the models of four folds adds, and whether it is more than width."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from studies.results.arithmetic import Mean, at_once, mean_of
from studies.results.figures import Dot, dot_rows
from studies.results.page import (
    DATA,
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
from studies.results.records import JOINED, ExportedRun
from studies.results.select import Table, by_data, split_label

STUDIES = ("c8_features_cub200",)
KINDS = {
    "single 128": "single, 128 dimensions",
    "joined 128": "joined, 4 x 128",
    "single 512": "single, 512 dimensions",
    "joined 512": "joined, 4 x 512",
}
METRICS = {"recall@1": "Recall@1", "map@r": "MAP@R"}


def page(runs: Sequence[ExportedRun], matters: Mapping[str, float]) -> Page | None:
    """Return the page of the runs of `STUDIES`."""
    tables = {
        data: {metric: _by_kind(some, metric) for metric in METRICS} for data, some in by_data(runs, DATA).items()
    }
    tables = {data: one for data, one in tables.items() if all(len(one["recall@1"][kind]) > 1 for kind in KINDS)}
    if not tables:
        return None
    ((data, one),) = tables.items()
    narrow = _gain(one["recall@1"], "single 128", "joined 128")
    wide = _gain(one["recall@1"], "single 512", "joined 128")
    return Page(
        name="c08_concatenation",
        title="C8. What does concatenating fold models add?",
        question="How much higher does an embedding joined from the models of four folds score than one of them?",
        source=(
            "Musgrave et al., 3.3 and tables 4 to 6: each loss is reported concatenated (four models, 512 dimensions) "
            "and separated (128); on CUB the first is 7 to 9 points of Recall@1 higher."
        ),
        fixed="before the runs (17 November 2026)",
        counts=effect_rule(
            "The mean gain in test Recall@1 of four joined models of 128 dimensions over a single model of 128, and of "
            "512, dimensions, which says whether it is more than width (one mean per loss, t over the losses)",
            2,
        ),
        short=(
            f"Four models joined gain {signed(narrow.mean)} points of Recall@1 over one of 128 dimensions, and "
            f"{signed(wide.mean)} over one of 512."
        ),
        answers=[
            _answer("against one model of 128 dimensions", narrow, matters.get(data, 0.0)),
            _answer("against one model of 512 dimensions", wide, matters.get(data, 0.0)),
        ],
        sections=[Section(heading=METRICS[metric], text=_table(one[metric])) for metric in METRICS],
        pictures=[
            Picture(
                name="c08_concatenation",
                caption=(
                    "Test Recall@1 in per cent of single and joined models: mean over seeds of each loss as a dot, "
                    "their mean as the mark, from the lowest to the highest loss as the line."
                ),
                draw=dot_rows({data: _dots(one["recall@1"])}, {data: None}, "Recall@1, %"),
                size=(5.2, 2.4),
            )
        ],
        limits=[
            "All fold models are heads on the same frozen features and start from nearly the same principal axes, so "
            "that they differ less than fine-tuned networks: the paper's gain is of four networks.",
            "A joined model is four trunks' work where networks are trained; on features it is one.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _by_kind(runs: Sequence[ExportedRun], metric: str) -> dict[str, Table]:
    """Return by kind and loss the score of each seed; single models of one seed are averaged over its folds."""
    collected: dict[str, dict[str, dict[int, list[float]]]] = {kind: {} for kind in KINDS}
    for run in runs:
        if run.state == "done" and ("test", metric) in run.scores and run.kind in ("final", JOINED):
            loss, width = split_label(run.method)
            row = collected[f"{'joined' if run.kind == JOINED else 'single'} {width}"].setdefault(loss, {})
            row.setdefault(run.seed, []).append(run.scores["test", metric])
    return {
        kind: {loss: {seed: fmean(some) for seed, some in row.items()} for loss, row in one.items()}
        for kind, one in collected.items()
    }


def _gain(one: dict[str, Table], before: str, after: str) -> Mean:
    shared = [loss for loss in one[before] if loss in one[after]]
    return mean_of(
        [fmean(one[after][loss].values()) - fmean(one[before][loss].values()) for loss in shared], level=at_once(2)
    )


def _answer(name: str, gain: Mean, line: float) -> Answer:
    ends = interval(gain.low, gain.high)
    return Answer(
        data=name,
        verdict=effect_of(gain, line),
        sentence=(
            f"Four models of 128 joined gain {signed(gain.mean)} points of Recall@1, interval {ends}; {points(line)} "
            "would matter."
        ),
    )


def _table(one: dict[str, Table]) -> str:
    losses = list(one["single 128"])
    rows = []
    for loss in losses:
        cells = [one[kind].get(loss) for kind in KINDS]
        rows.append([loss, *("" if cell is None else points(fmean(cell.values())) for cell in cells)])
    n_seeds = min(len(row) for kind in one.values() for row in kind.values())
    note = f"Means over seeds ({n_seeds} each), single models also over 4 folds."
    return f"{table(['loss', *KINDS.values()], rows)}\n\n{note}"


def _dots(one: dict[str, Table]) -> list[Dot]:
    found: list[Dot] = []
    for kind, name in KINDS.items():
        single = [100 * fmean(row.values()) for row in one[kind].values()]
        found.append((name, fmean(single), min(single), max(single), single))
    return found
