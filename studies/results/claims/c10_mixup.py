"""C10: whether manifold mixup compresses the embedding, and what that costs."""

from collections.abc import Sequence

from studies.results.arithmetic import Mean, over_losses, paired_gains
from studies.results.figures import scatter_panels
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, interval, signed, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import Table, columns, finals_by_data, seeds_in_words, values

STUDIES = ("c10_features_cub200", "c10_icons")
#: of the training classes: decay of all embeddings, of those within classes, and the rank that goes with it
SPECTRA = {"rho": "ρ", "class_rho": "ρ within classes", "effective_rank": "effective rank"}


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the runs of `STUDIES`."""
    found = finals_by_data(runs, DATA)
    recall = {data: _changes(values(some, "recall@1")) for data, some in found.items()}
    recall = {data: one for data, one in recall.items() if len(one) > 1}
    if not recall:
        return None
    spectra = {
        data: {measure: _changes(values(found[data], measure, "train")) for measure in SPECTRA} for data in recall
    }
    overall = {data: (over_losses(spectra[data]["rho"]), over_losses(one)) for data, one in recall.items()}
    return Page(
        name="c10_mixup",
        title="C10. Does mixup compress embeddings?",
        question="Does manifold mixup make the spectrum of the embedding decay faster, and does it cost Recall@1?",
        source=(
            "Roth et al., supplement F, figure 12: mixup gives more compressed representations, of all embeddings and "
            "within classes, at the cost of generalisation (their text says lower ρ, but by its definition faster "
            "decay is a higher ρ)."
        ),
        counts=(
            "it holds if over the five losses the mean change of ρ (training classes) is above 0, which is stronger "
            "decay, and the mean change of test Recall@1 below 0, both by 95 % intervals (differences on shared seeds, "
            "one mean a loss, t over the losses); it does not hold if one of the intervals lies on the other side of "
            "0; otherwise these runs cannot tell."
        ),
        short="Mean change by mixup of ρ and of Recall@1: "
        + ", ".join(
            f"{SHORT[data]} {rho.mean:+.3f} and {signed(one.mean)} points" for data, (rho, one) in overall.items()
        )
        + ".",
        answers=[_answer(data, *one) for data, one in overall.items()],
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


def _answer(data: str, rho: Mean, recall: Mean) -> Answer:
    verdict = verdict_of(holds=rho.low > 0 and recall.high < 0, fails=rho.high < 0 or recall.low > 0)
    sentence = (
        f"ρ changes by {rho.mean:+.3f} [{rho.low:+.3f}, {rho.high:+.3f}], Recall@1 by {signed(recall.mean)} points "
        f"{interval(recall.low, recall.high)}."
    )
    return Answer(data=data, verdict=verdict, sentence=sentence)


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
