"""C5: what batch size, weight decay and dimension change, whatever the loss."""

from collections.abc import Sequence

from studies.results.arithmetic import Mean, over_losses, paired_gains
from studies.results.figures import Dot, dot_rows
from studies.results.page import (
    DATA,
    Answer,
    Page,
    Picture,
    Section,
    Verdict,
    interval,
    points,
    signed,
    table,
    verdict_of,
)
from studies.results.records import ExportedRun
from studies.results.select import Table, by_data, finals, means, seeds_in_words, split_label, values

STUDIES = ("c5_features_cub200",)
BASE = "base"
VARIANTS = {
    "batch 32": "batches of 32",
    "batch 256": "batches of 256",
    "decay 0.001": "weight decay 0.001",
    "decay 0.01": "weight decay 0.01",
    "32 dimensions": "32 dimensions",
    "64 dimensions": "64 dimensions",
    "256 dimensions": "256 dimensions",
    "512 dimensions": "512 dimensions",
}
DECAYS = ("decay 0.001", "decay 0.01")
BOUND = 0.005


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the runs of `STUDIES`."""
    found = {data: finals(some) for data, some in by_data(runs, DATA).items()}
    recall = {data: values(some, "recall@1") for data, some in found.items() if some}
    changes = {data: _changes(one) for data, one in recall.items()}
    changes = {data: one for data, one in changes.items() if all(variant in one for variant in VARIANTS)}
    if not changes:
        return None
    ((data, one),) = changes.items()
    overall = {variant: over_losses(some) for variant, some in one.items()}
    batches = over_losses(_between(recall[data], "batch 32", "batch 256"))
    return Page(
        name="c05_factors",
        title="C5. What do batch size, weight decay and dimension change?",
        question="How much do settings that are no part of a loss move test Recall@1?",
        source=(
            "Roth et al., 4.2, figure 2: larger batches generally help; weight decay moves scores by up to 5 %, "
            "depending on loss and data; losses differ by dimension and meet at 512."
        ),
        counts=(
            "mean changes in test Recall@1 over the five losses (differences on shared seeds, one mean a loss, t over "
            "the losses, 95 %). Larger batches help if 256 less 32 is above 0, more dimensions if 512 less 128 is "
            "above 0, weight decay matters if 0.001 or 0.01 less none leaves 0 out; a part does not hold if the "
            "interval lies below half a point (weight decay: both within half a point of 0); otherwise these runs "
            "cannot tell."
        ),
        short=(
            f"Mean change in Recall@1: batches of 32 to 256 {signed(batches.mean)} points, 128 to 512 dimensions "
            f"{signed(overall['512 dimensions'].mean)}, weight decay 0.01 {signed(overall['decay 0.01'].mean)}."
        ),
        answers=[
            _answer("larger batches help", "From 32 to 256", batches, _rises(batches)),
            _answer(
                "more dimensions help",
                "From 128 to 512",
                overall["512 dimensions"],
                _rises(overall["512 dimensions"]),
            ),
            _answer(
                "weight decay matters", "From none to 0.01", overall["decay 0.01"], _moves([overall[d] for d in DECAYS])
            ),
        ],
        sections=[Section(heading="Recall@1 by loss and setting", text=_table(recall[data], overall))],
        pictures=[
            Picture(
                name="c05_factors",
                caption=(
                    "Change of Recall@1 in points from the base (batches of 128, no weight decay, 128 dimensions): "
                    "mean over losses with its 95 % interval, single losses as dots."
                ),
                draw=dot_rows({data: _dots(one, overall)}, {data: 0.0}, "change of Recall@1, points"),
                size=(5.6, 3.4),
            )
        ],
        limits=[
            "All have 320 batches, so that larger batches also see more images.",
            "Settings were searched at the base, which favours it if anything.",
            "Augmentation cannot be told on features; weight decay pulls a linear head alone.",
            seeds_in_words(recall[data].values()),
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _losses(recall: Table) -> list[str]:
    return list(dict.fromkeys(split_label(label)[0] for label in recall))


def _between(recall: Table, before: str, after: str) -> dict[str, Mean]:
    return paired_gains(recall, {loss: (f"{loss}, {before}", f"{loss}, {after}") for loss in _losses(recall)})


def _changes(recall: Table) -> dict[str, dict[str, Mean]]:
    found = {variant: _between(recall, BASE, variant) for variant in VARIANTS}
    return {variant: one for variant, one in found.items() if len(one) > 1}


def _rises(change: Mean) -> Verdict:
    return verdict_of(holds=change.low > 0, fails=change.high < BOUND)


def _moves(changes: Sequence[Mean]) -> Verdict:
    return verdict_of(
        holds=any(one.low > 0 or one.high < 0 for one in changes),
        fails=all(one.low > -BOUND and one.high < BOUND for one in changes),
    )


def _answer(name: str, what: str, change: Mean, verdict: Verdict) -> Answer:
    ends = interval(change.low, change.high)
    return Answer(
        data=name, verdict=verdict, sentence=f"{what}: {signed(change.mean)} points of Recall@1, interval {ends}."
    )


def _table(recall: Table, overall: dict[str, Mean]) -> str:
    found, losses = means(recall), _losses(recall)
    rows = [["base", *(points(found[f"{loss}, {BASE}"]) for loss in losses), ""]]
    for variant, name in VARIANTS.items():
        cells = [found.get(f"{loss}, {variant}") for loss in losses]
        change = overall[variant]
        last = f"{signed(change.mean)} {interval(change.low, change.high)}"
        rows.append([name, *("" if cell is None else points(cell) for cell in cells), last])
    return table(["setting", *losses, "mean change"], rows)


def _dots(changes: dict[str, dict[str, Mean]], overall: dict[str, Mean]) -> list[Dot]:
    return [
        (
            VARIANTS[variant],
            100 * overall[variant].mean,
            100 * overall[variant].low,
            100 * overall[variant].high,
            [100 * gain.mean for gain in one.values()],
        )
        for variant, one in changes.items()
    ]
