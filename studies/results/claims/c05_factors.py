"""C5: what batch size, weight decay and dimension change, whatever the loss."""

from collections.abc import Sequence

from studies.results.arithmetic import Mean, over_losses
from studies.results.figures import dot_rows
from studies.results.page import (
    DATA,
    Answer,
    Page,
    Picture,
    Section,
    Verdict,
    interval,
    signed,
    verdict_of,
)
from studies.results.records import ExportedRun
from studies.results.select import finals_by_data, seeds_in_words, values
from studies.results.variants import Variants

STUDIES = ("c5_features_cub200",)
BASE = "base"
VARIANTS = {
    BASE: "base",
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
    found = {
        data: Variants(scores=values(some, "recall@1"), base=BASE, names=VARIANTS)
        for data, some in finals_by_data(runs, DATA).items()
    }
    found = {data: one for data, one in found.items() if len(one.changes) == len(VARIANTS) - 1}
    if not found:
        return None
    ((data, one),) = found.items()
    overall, batches = one.overall, over_losses(one.between("batch 32", "batch 256"))
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
        sections=[Section(heading="Recall@1 by loss and setting", text=one.table("setting", "mean change"))],
        pictures=[
            Picture(
                name="c05_factors",
                caption=(
                    "Change of Recall@1 in points from the base (batches of 128, no weight decay, 128 dimensions): "
                    "mean over losses with its 95 % interval, single losses as dots."
                ),
                draw=dot_rows({data: one.dots()}, {data: 0.0}, "change of Recall@1, points"),
                size=(5.6, 3.4),
            )
        ],
        limits=[
            "All have 320 batches, so that larger batches also see more images.",
            "Settings were searched at the base, which favours it if anything.",
            "Augmentation cannot be told on features; weight decay pulls a linear head alone.",
            seeds_in_words(one.scores.values()),
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


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
