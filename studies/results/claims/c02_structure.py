"""C2: whether Recall@1 on unseen classes goes with the structure of the embedding of the training classes."""

from collections.abc import Sequence

import numpy as np
from studies.results.arithmetic import Correlation, rank_correlation
from studies.results.figures import scatter_panels
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, panel_size, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import columns, finals_by_data, means, values

MEASURES = {
    "rho": "ρ, spectral decay",
    "pi_intra": "π intra",
    "pi_inter": "π inter",
    "pi_ratio": "π ratio",
    "effective_rank": "effective rank",
    "uniformity": "uniformity",
    "alignment": "alignment",
}


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of runs with analyses."""
    found = {data: some for data, some in finals_by_data(runs, DATA).items() if ("train", "rho") in some[0].scores}
    if not found:
        return None
    measured = {
        data: {
            measure: rank_correlation(*_columns(some, measure))
            for measure in MEASURES
            if values(some, measure, "train")
        }
        for data, some in found.items()
    }
    return Page(
        name="c02_structure",
        title="C2. Does the structure of an embedding tell how it generalises?",
        question=(
            "Does test Recall@1 go with spectral decay ρ and the densities π of the embedding of the training classes?"
        ),
        source=(
            "Roth et al., figure 5 and section 5: Recall@1 and ρ have a correlation of -0.63 or stronger on all "
            "three data sets; the "
            "distances π have no consistent one, π ratio a positive one on CUB and Cars."
        ),
        fixed="written after the search had begun and before any test score was seen",
        counts=(
            "it holds if Spearman's correlation of Recall@1 with ρ over methods (means over seeds) is below 0 by "
            "its 95 % interval "
            "(methods resampled); it does not hold if the interval lies above -0.3; otherwise these runs cannot tell."
        ),
        short="Rank correlation over methods of Recall@1 with ρ, which is low where the spectrum is flat: "
        + ", ".join(f"{SHORT[data]} {one['rho'].value:+.2f}" for data, one in measured.items())
        + " (Roth et al.: -0.63 or stronger).",
        answers=[_answer(data, one["rho"]) for data, one in measured.items()],
        sections=[Section(heading="Correlation of Recall@1 with each measure", text=_table(measured))],
        pictures=[
            Picture(
                name="c02_structure",
                caption=(
                    "Test Recall@1 in per cent against ρ of the training classes, one mark a method (mean over seeds)."
                ),
                draw=scatter_panels(
                    {data: _columns(some, "rho") for data, some in found.items()},
                    "ρ",
                    "Recall@1, %",
                    SHORT,
                    scale=(1, 100),
                ),
                size=panel_size(len(found)),
            )
        ],
        limits=[
            "Over methods at one setting each: few points, most of them close together.",
            "On features the head is linear and starts from the principal axes, so that all spectra begin alike.",
            "A correlation over methods says nothing of what changing ρ would do; C3 changes it.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _columns(runs: Sequence[ExportedRun], measure: str) -> tuple[np.ndarray, np.ndarray]:
    recall, measured = columns(means(values(runs, "recall@1")), means(values(runs, measure, "train")))
    return measured, recall


def _answer(data: str, rho: Correlation) -> Answer:
    verdict = verdict_of(holds=rho.high < 0, fails=rho.low > -0.3)
    return Answer(data=data, verdict=verdict, sentence=f"Rank correlation of Recall@1 with ρ: {rho}.")


def _table(measured: dict[str, dict[str, Correlation]]) -> str:
    rows = [
        [name, *(str(one[measure]) if measure in one else "" for one in measured.values())]
        for measure, name in MEASURES.items()
    ]
    return table(["measure of the training classes", *(SHORT[data] for data in measured)], rows)
