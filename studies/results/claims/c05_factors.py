"""C5: what batch size, weight decay, dimension and augmentation change, whatever the loss."""

from collections.abc import Mapping, Sequence

from studies.results.arithmetic import Mean, at_once, over_losses
from studies.results.figures import dot_rows
from studies.results.page import (
    DATA,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    effect_of,
    effect_rule,
    in_parts,
    interval,
    points,
    signed,
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


def page(runs: Sequence[ExportedRun], matters: Mapping[str, float]) -> Page | None:
    """Return the page of the runs of `STUDIES`."""
    found = {
        data: Variants(scores=values(some, "recall@1"), base=BASE, names=VARIANTS)
        for data, some in finals_by_data(runs, DATA).items()
    }
    found = {data: one for data, one in found.items() if one.changes.keys() >= VARIANTS.keys() - {BASE, PLAIN}}
    if not found:
        return None
    n_verdicts = sum(len(_changes(one, 0.95)) for one in found.values())
    return Page(
        name="c05_factors",
        title="C5. What do batch size, weight decay, dimension and augmentation change?",
        question="How much do settings that are no part of a loss move test Recall@1?",
        source=(
            "Roth et al., 4.2, figure 2: larger batches generally help; weight decay moves scores by up to 5 %, "
            "depending on loss and data; preprocessing makes large differences; losses differ by dimension and meet at "
            "512."
        ),
        fixed="before the runs (17 November 2026)",
        counts=effect_rule(
            "Mean changes in test Recall@1 over the five losses (differences on shared seeds, one mean per loss, "
            "t over "
            "the losses): of batches of 256 over 32, of 512 over 128 dimensions, of augmentation over plain "
            "images, and "
            "of weight decay 0.001 and 0.01 over none",
            n_verdicts,
        ),
        short=f"Mean change in Recall@1: {'; '.join(_short(data, one) for data, one in found.items())}.",
        answers=[
            answer
            for data, one in found.items()
            for answer in _answers(data, one, matters.get(data, 0.0), at_once(n_verdicts))
        ],
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
            "All have the same number of batches (320, on icons 150), so that batches of 256 see eight times the "
            "images of "
            "batches of 32: on icons, trained from scratch, that alone may be the gain.",
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


def _changes(one: Variants, level: float) -> list[tuple[str, Mean]]:
    """Return every change that is judged, with its interval at a level."""
    pairs = [
        ("batches of 256 beat 32", "batch 32", "batch 256"),
        ("512 dimensions beat 128", BASE, "512 dimensions"),
        *((f"weight {variant} beats none", BASE, variant) for variant in DECAYS),
        ("augmentation beats plain images", PLAIN, BASE),
    ]
    changes = [(part, one.between(before, after)) for part, before, after in pairs]
    return [(part, over_losses(gains, level=level)) for part, gains in changes if gains]


def _answers(data: str, one: Variants, line: float, level: float) -> list[Answer]:
    said = []
    for part, change in _changes(one, level):
        ends = interval(change.low, change.high)
        text = f"Recall@1 {signed(change.mean)} points, interval {ends}; {points(line)} would matter."
        said.append((part, effect_of(change, line), text))
    return in_parts(data, said)
