"""C9: which metrics say the same? Rank correlations of metrics over methods."""

from collections.abc import Sequence

import numpy as np
from studies.results.arithmetic import Correlation, at_once, rank_correlation, spearman
from studies.results.coinciding import distinct_values
from studies.results.figures import scatter_panels
from studies.results.page import (
    DATA,
    NO_PETS,
    RANKED,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    above,
    panel_size,
    table,
)
from studies.results.records import ExportedRun
from studies.results.select import columns, finals_by_data, means

METRICS = {
    "recall@1": "Recall@1",
    "recall@8": "Recall@8",
    "r_precision": "R-Precision",
    "map@r": "MAP@R",
    "nmi": "NMI",
    "ami": "AMI",
    "f1": "F1",
}


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of runs with clustering metrics."""
    found = {data: some for data, some in finals_by_data(runs, RANKED).items() if ("test", "nmi") in some[0].scores}
    if not found:
        return None
    level = at_once(len(found))
    recall = {data: rank_correlation(*_columns(some, "recall@1", "map@r"), level=level) for data, some in found.items()}
    clusters = {data: rank_correlation(*_columns(some, "recall@1", "nmi"), level=level) for data, some in found.items()}
    return Page(
        name="c09_metrics",
        title="C9. Do the metrics of the field rank methods alike?",
        question="Do Recall@k, MAP@R and clustering metrics put methods in the same order on unseen classes?",
        source=(
            "Roth et al., 4.1 and supplement: the metrics correlate highly except for mAP with NMI and F1 on "
            "some sets. Musgrave et al., "
            "2.2: Recall@1 and clustering metrics say little that MAP@R does not say better."
        ),
        fixed="with the first exported runs (16 November 2026)",
        counts=(
            "metrics rank alike if Spearman's correlation of Recall@1 and MAP@R over methods that differ is above 0.8 "
            "by the lower end of its interval (methods resampled; the intervals of this page hold at once at 95 %); "
            "they do not if the upper end is below 0.8; otherwise these runs cannot tell."
        ),
        short="Rank correlation over methods of Recall@1 with MAP@R and with NMI: "
        + ", ".join(f"{SHORT[data]} {recall[data].value:+.2f} and {clusters[data].value:+.2f}" for data in found)
        + ".",
        answers=[_answer(data, one) for data, one in recall.items()],
        sections=[Section(heading=DATA[data], text=_table(some)) for data, some in found.items()],
        pictures=[
            Picture(
                name="c09_metrics",
                caption="Test NMI against test MAP@R in per cent, one mark per method (mean over seeds).",
                draw=scatter_panels(
                    {data: _columns(some, "map@r", "nmi") for data, some in found.items()}, "MAP@R, %", "NMI, %", SHORT
                ),
                size=panel_size(len(found)),
            )
        ],
        limits=[
            "Clusterings of one k-means seed each, of unit vectors.",
            "Methods close together change places by chance, which lowers every correlation. Methods that "
            "coincide (C1) "
            "count once.",
            NO_PETS,
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _columns(runs: Sequence[ExportedRun], x: str, y: str) -> tuple[np.ndarray, np.ndarray]:
    return columns(means(distinct_values(runs, x)), means(distinct_values(runs, y)))


def _answer(data: str, one: Correlation) -> Answer:
    verdict = above(one, 0.8)
    return Answer(data=data, verdict=verdict, sentence=f"Rank correlation of Recall@1 and MAP@R over methods: {one}.")


def _table(runs: Sequence[ExportedRun]) -> str:
    rows = []
    for metric, name in METRICS.items():
        cells = ["1" if other == metric else f"{spearman(*_columns(runs, metric, other)):+.2f}" for other in METRICS]
        rows.append([name, *cells])
    return table(["Spearman's correlation over methods", *METRICS.values()], rows)
