"""C5: what batch size, weight decay, dimension and augmentation change, whatever the loss."""

from collections.abc import Sequence

from studies.results.arithmetic import Mean, over_losses
from studies.results.figures import dot_rows
from studies.results.page import (
    DATA,
    SHORT,
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

STUDIES = ("c5_features_cub200", "c5_icons")
BASE = "base"
#: images as they are, where the base augments them: of features there are none
PLAIN = "plain images"
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
    PLAIN: "no augmentation",
}
DECAYS = ("decay 0.001", "decay 0.01")
BOUND = 0.005


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the runs of `STUDIES`."""
    found = {
        data: Variants(scores=values(some, "recall@1"), base=BASE, names=VARIANTS)
        for data, some in finals_by_data(runs, DATA).items()
    }
    found = {data: one for data, one in found.items() if one.changes.keys() >= VARIANTS.keys() - {BASE, PLAIN}}
    if not found:
        return None
    return Page(
        name="c05_factors",
        title="C5. What do batch size, weight decay, dimension and augmentation change?",
        question="How much do settings that are no part of a loss move test Recall@1?",
        source=(
            "Roth et al., 4.2, figure 2: larger batches generally help; weight decay moves scores by up to 5 %, "
            "depending on loss and data; preprocessing makes large differences; losses differ by dimension and meet at "
            "512."
        ),
        counts=(
            "mean changes in test Recall@1 over the five losses (differences on shared seeds, one mean a loss, t over "
            "the losses, 95 %). Larger batches help if 256 less 32 is above 0, more dimensions if 512 less 128 is "
            "above 0, augmentation if the base less plain images is above 0, weight decay matters if 0.001 or 0.01 "
            "less none leaves 0 out; a part does not hold if the interval lies below half a point (weight decay: both "
            "within half a point of 0); otherwise these runs cannot tell."
        ),
        short=f"Mean change in Recall@1: {'; '.join(_short(data, one) for data, one in found.items())}.",
        answers=[answer for data, one in found.items() for answer in _answers(data, one)],
        sections=[
            Section(heading=f"Recall@1 by loss and setting: {DATA[data]}", text=one.table("setting", "mean change"))
            for data, one in found.items()
        ],
        pictures=[
            Picture(
                name="c05_factors",
                caption=(
                    "Change of Recall@1 in points from the base (batches of 128, on icons of 112; no weight decay, 128 "
                    "dimensions, icons augmented): mean over losses with its 95 % interval, single losses as dots."
                ),
                draw=dot_rows(
                    {data: one.dots() for data, one in found.items()},
                    dict.fromkeys(found, 0.0),
                    "change of Recall@1, points",
                ),
                size=(5.6 * len(found), 3.4),
            )
        ],
        limits=[
            "All have the same number of batches (320, on icons 150), so that larger batches also see more images.",
            "Settings were searched at the base, which favours it if anything.",
            "On features weight decay pulls a linear head alone, and there is nothing to augment. Training on icons is "
            "short, and augmentation is the more useful the longer a network trains.",
            *(f"{SHORT[data]}: {seeds_in_words(one.scores.values())}" for data, one in found.items()),
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _batches(one: Variants) -> Mean:
    """Return what batches of 256 gain over batches of 32."""
    return over_losses(one.between("batch 32", "batch 256"))


def _augmented(one: Variants) -> Mean | None:
    """Return what augmentation gains; nothing where there are no plain images to compare with."""
    found = one.between(PLAIN, BASE)
    return over_losses(found) if found else None


def _short(data: str, one: Variants) -> str:
    overall, augmented = one.overall, _augmented(one)
    parts = [
        f"batches of 32 to 256 {signed(_batches(one).mean)} points",
        f"128 to 512 dimensions {signed(overall['512 dimensions'].mean)}",
        f"weight decay 0.01 {signed(overall['decay 0.01'].mean)}",
    ]
    parts += [] if augmented is None else [f"augmentation {signed(augmented.mean)}"]
    return f"{SHORT[data]}: {', '.join(parts)}"


def _answers(data: str, one: Variants) -> list[Answer]:
    overall, batches, augmented = one.overall, _batches(one), _augmented(one)
    wide, decays = overall["512 dimensions"], [overall[name] for name in DECAYS]
    found = [
        ("larger batches help", _rises(batches), [("From 32 to 256", batches)]),
        ("more dimensions help", _rises(wide), [("From 128 to 512", wide)]),
        ("weight decay matters", _moves(decays), list(zip(("From none to 0.001", "to 0.01"), decays, strict=True))),
    ]
    if augmented is not None:
        changes = [("From plain images to augmented ones", augmented)]
        found.append(("augmentation helps", _rises(augmented), changes))
    return [
        Answer(data=f"{SHORT[data]}: {part}", verdict=verdict, sentence=_in_words(changes))
        for part, verdict, changes in found
    ]


def _rises(change: Mean) -> Verdict:
    return verdict_of(holds=change.low > 0, fails=change.high < BOUND)


def _moves(changes: Sequence[Mean]) -> Verdict:
    return verdict_of(
        holds=any(one.low > 0 or one.high < 0 for one in changes),
        fails=all(one.low > -BOUND and one.high < BOUND for one in changes),
    )


def _in_words(changes: Sequence[tuple[str, Mean]]) -> str:
    """Return changes of Recall@1 with their intervals, every one that the verdict looks at."""
    said = [
        f"{what} {signed(change.mean)} points, interval {interval(change.low, change.high)}" for what, change in changes
    ]
    return f"Recall@1: {'; '.join(said)}."
