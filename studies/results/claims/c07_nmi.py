"""C7: whether NMI rewards many classes, and AMI does not: networks with random weights."""

import re
from collections.abc import Sequence

from studies.results.arithmetic import Mean, at_once, mean_of
from studies.results.figures import line_panels
from studies.results.page import Answer, Page, Picture, Section, interval, points, signed, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import values

STUDIES = ("c7_random_networks",)
KINDS = ("random network", "random points")
METRICS = {"nmi": "NMI", "ami": "AMI", "recall@1": "Recall@1", "map@r": "MAP@R"}
BOUND = 0.1


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the measurements of `STUDIES`."""
    if not runs:
        return None
    rises = {metric: {kind: _rise(runs, kind, metric) for kind in KINDS} for metric in METRICS}
    nmi, ami = rises["nmi"], rises["ami"]
    fewest, most = _counts(runs)[0], _counts(runs)[-1]
    return Page(
        name="c07_nmi",
        title="C7. Does NMI reward many classes, and AMI not?",
        question="How do NMI and AMI of embeddings that know nothing change with the number of classes?",
        source=(
            "Musgrave et al., 2.2 and table 2: NMI tends to be high on data sets with many classes whatever the "
            "model; that "
            "of networks with random weights is 13.7 to 23.6 % on CUB and Cars196 and 73.1 to 81.2 % on Stanford "
            "Online "
            "Products. Adjusted mutual information removes this flaw."
        ),
        fixed="with the first exported runs (16 November 2026)",
        counts=(
            f"it holds if NMI rises by more than 10 points from {fewest} classes to {most} while AMI does not, by "
            "intervals over 5 seeds that hold at once for the page at 95 %."
        ),
        short=(
            f"From {fewest} to {most} classes a random network's NMI rises by {points(nmi[KINDS[0]].mean)} "
            "points, its AMI "
            f"changes by {signed(ami[KINDS[0]].mean)}; those of random points by {signed(nmi[KINDS[1]].mean)} and "
            f"{signed(ami[KINDS[1]].mean)}."
        ),
        answers=[_answer(kind, nmi[kind], ami[kind]) for kind in KINDS],
        sections=[Section(heading="By the number of classes", text=_table(runs))],
        pictures=[
            Picture(
                name="c07_nmi",
                caption=(
                    "NMI and AMI in per cent of a network with random weights and of random points, by number of "
                    "classes."
                ),
                draw=line_panels({kind: _lines(runs, kind) for kind in KINDS}, "classes of 10 images", "%"),
                size=(7.0, 3.0),
            )
        ],
        limits=[
            "Ten images of a class throughout; with more images of a class the NMI of a random clustering is lower.",
            "The small network of the icons, not the three of the paper.",
            "That AMI does not rise is all that is asked. A random network's AMI falls as classes are added, as its "
            "Recall@1 does: it does not compare data sets either.",
        ],
        studies=STUDIES,
        runs=runs,
    )


def _counts(runs: Sequence[ExportedRun]) -> list[int]:
    return sorted({int(found[1]) for run in runs if (found := re.search(r"(\d+) classes", run.method))})


def _row(runs: Sequence[ExportedRun], kind: str, n: int, metric: str) -> dict[int, float]:
    return values(runs, metric)[f"{kind}, {n} classes"]


def _rise(runs: Sequence[ExportedRun], kind: str, metric: str) -> Mean:
    few, many = (_row(runs, kind, n, metric) for n in (_counts(runs)[0], _counts(runs)[-1]))
    return mean_of([many[seed] - few[seed] for seed in few], level=at_once(len(KINDS) * 2))


def _answer(kind: str, nmi: Mean, ami: Mean) -> Answer:
    holds = nmi.low > BOUND and ami.high < BOUND
    fails = nmi.high < BOUND or ami.low > BOUND
    sentence = (
        f"NMI rises by {points(nmi.mean)} points {interval(nmi.low, nmi.high)}, AMI changes by {signed(ami.mean)} "
        f"{interval(ami.low, ami.high)}."
    )
    return Answer(data=kind, verdict=verdict_of(holds=holds, fails=fails), sentence=sentence)


def _table(runs: Sequence[ExportedRun]) -> str:
    rows = []
    for kind in KINDS:
        for n in _counts(runs):
            found = [mean_of(list(_row(runs, kind, n, metric).values())) for metric in METRICS]
            rows.append(
                [f"{kind}, {n} classes", *(f"{points(one.mean)} {interval(one.low, one.high)}" for one in found)]
            )
    return table(["embedding", *METRICS.values()], rows)


def _lines(runs: Sequence[ExportedRun], kind: str) -> list[tuple[str, list[float], list[float]]]:
    counts = _counts(runs)
    return [
        (
            METRICS[metric],
            [float(n) for n in counts],
            [100 * mean_of(list(_row(runs, kind, n, metric).values())).mean for n in counts],
        )
        for metric in ("nmi", "ami")
    ]
