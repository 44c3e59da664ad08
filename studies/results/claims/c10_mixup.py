"""C10: whether manifold mixup compresses the embedding, and what that costs."""

from collections.abc import Mapping, Sequence

from studies.results.arithmetic import Mean, at_once, over_losses, paired_gains
from studies.results.figures import scatter_panels
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
    table,
)
from studies.results.records import ExportedRun
from studies.results.select import Table, columns, finals_by_data, seeds_in_words, values

STUDIES = ("c10_features_cub200", "c10_icons")
#: of the training classes: decay of all embeddings, of those within classes, and the rank that goes with it
SPECTRA = {"rho": "ρ", "class_rho": "ρ within classes", "effective_rank": "effective rank"}


def page(runs: Sequence[ExportedRun], matters: Mapping[str, float]) -> Page | None:
    """Return the page of the runs of `STUDIES`."""
    found = finals_by_data(runs, DATA)
    recall = {data: _changes(values(some, "recall@1")) for data, some in found.items()}
    recall = {data: one for data, one in recall.items() if len(one) > 1}
    if not recall:
        return None
    spectra = {
        data: {measure: _changes(values(found[data], measure, "train")) for measure in SPECTRA} for data in recall
    }
    level = at_once(2 * len(recall))
    overall = {
        data: (over_losses(spectra[data]["rho"], level=level), over_losses(one, level=level))
        for data, one in recall.items()
    }
    return Page(
        name="c10_mixup",
        title="C10. Does mixup compress embeddings?",
        question="Does manifold mixup make the spectrum of the embedding decay faster, and does it cost Recall@1?",
        source=(
            "Roth et al., supplement F, figure 12: mixup gives more compressed representations, of all embeddings and "
            "within classes, at the cost of generalisation (their text says lower ρ, but by its definition faster "
            "decay is a higher ρ)."
        ),
        fixed="before the runs (17 November 2026)",
        counts=effect_rule(
            "Two parts: the mean change of ρ of the training classes, where above 0 is stronger decay, and the mean "
            "loss in test Recall@1 (differences on shared seeds, one mean per loss, t over five losses). For ρ no size "
            "that matters is known, so that only its sign is judged",
            2 * len(recall),
        ),
        short="Mean change by mixup of ρ and of Recall@1: "
        + ", ".join(
            f"{SHORT[data]} {rho.mean:+.3f} and {signed(one.mean)} points" for data, (rho, one) in overall.items()
        )
        + ".",
        answers=[answer for data, one in overall.items() for answer in _answers(data, *one, matters.get(data, 0.0))],
        sections=[Section(heading="Change of each loss", text=_table(recall, spectra))],
        pictures=[
            Picture(
                name="c10_mixup",
                caption=(
                    "Change by mixup of test Recall@1, in points, against the change of ρ of the training classes, one "
                    "mark a loss: the claim has them below and to the right of 0."
                ),
                draw=scatter_panels(
                    {data: columns(_means(spectra[data]["rho"]), _means(recall[data])) for data in recall},
                    "change of ρ",
                    "change of Recall@1, points",
                    SHORT,
                    scale=(1, 100),
                ),
                size=(3.4 * len(recall), 2.9),
            )
        ],
        limits=[
            "On features there is one stage to mix before, the features themselves; on icons any stage.",
            "Settings are those published for fine-tuned networks on CUB, not searched here, and training is short.",
            "ρ is ruled by the smallest singular values and the effective rank by the largest, so that they can part.",
            seeds_in_words(row for data in recall for row in values(found[data], "recall@1").values()),
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _changes(one: Table) -> dict[str, Mean]:
    return paired_gains(one, {method: (method, f"{method}, mixup") for method in one})


def _answers(data: str, rho: Mean, recall: Mean, line: float) -> list[Answer]:
    cost = Mean(mean=-recall.mean, low=-recall.high, high=-recall.low)
    return in_parts(
        data,
        (
            (
                "mixup compresses",
                effect_of(rho, 0.0),
                f"ρ changes by {rho.mean:+.3f} [{rho.low:+.3f}, {rho.high:+.3f}].",
            ),
            (
                "mixup costs recall",
                effect_of(cost, line),
                f"Recall@1 changes by {signed(recall.mean)} points {interval(recall.low, recall.high)}; "
                f"{points(line)} would matter.",
            ),
        ),
    )


def _table(recall: dict[str, dict[str, Mean]], spectra: dict[str, dict[str, dict[str, Mean]]]) -> str:
    rows = []
    for data, one in recall.items():
        for loss, gain in one.items():
            cells = [f"{signed(gain.mean)} {interval(gain.low, gain.high)}"]
            for measure in SPECTRA:
                change = spectra[data][measure].get(loss)
                cells.append("" if change is None else f"{change.mean:+.3f}")
            rows.append([f"{SHORT[data]}, {loss}", *cells])
    return table(["loss", "Recall@1, points", *SPECTRA.values()], rows)


def _means(changes: dict[str, Mean]) -> dict[str, float]:
    return {loss: change.mean for loss, change in changes.items()}
