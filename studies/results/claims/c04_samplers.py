"""C4: whether it matters how a batch is filled: seven samplers under six losses."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from studies.results.arithmetic import Mean, at_once, over_losses
from studies.results.figures import dot_rows
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
)
from studies.results.records import ExportedRun
from studies.results.select import Table, finals_by_data, means, seeds_in_words, split_label, values
from studies.results.variants import Variants

STUDIES = ("c4_features_cub200",)
SAMPLERS = ("SPC-2", "SPC-4", "SPC-8", "SPC-R", "GC", "DDM", "FRD")
BASE = "SPC-4"
#: the two that the paper sets above SPC-4
CLAIMED = ("SPC-2", "FRD")


def page(runs: Sequence[ExportedRun], matters: Mapping[str, float]) -> Page | None:
    """Return the page of the runs of `STUDIES`."""
    found = {data: samplers_of(values(some, "recall@1")) for data, some in finals_by_data(runs, DATA).items()}
    found = {data: one for data, one in found.items() if all(sampler in one.changes for sampler in CLAIMED)}
    if not found:
        return None
    ((data, one),) = found.items()
    overall, apart = one.overall, _range(one.scores)
    return Page(
        name="c04_samplers",
        title="C4. Does it matter how a batch is filled?",
        question="How much does the sampler of batches move test Recall@1, and do SPC-2 and FRD beat SPC-4?",
        source=(
            "Roth et al., 4.3, figure 3, tables 7 to 9: samplers move the mean score by up to 1.5 %; SPC-2 and FRD "
            "outperform SPC-4 on every data set."
        ),
        fixed="before the runs (17 November 2026)",
        counts=effect_rule(
            "The mean gain in test Recall@1 of SPC-2, and of FRD, over SPC-4 for six losses (differences on shared "
            "seeds, one mean per loss, t over the losses)",
            len(CLAIMED),
        ),
        short=(
            "Recall@1 gained over SPC-4, mean of six losses: "
            + ", ".join(f"{sampler} {signed(overall[sampler].mean)}" for sampler in CLAIMED)
            + f" points; best to worst of seven samplers {points(apart)}."
        ),
        answers=[
            _answer(sampler, over_losses(one.changes[sampler], level=at_once(len(CLAIMED))), matters.get(data, 0.0))
            for sampler in CLAIMED
        ],
        sections=[
            Section(heading="Recall@1 by loss and sampler", text=one.table("sampler", "mean gain over SPC-4")),
        ],
        pictures=[
            Picture(
                name="c04_samplers",
                caption=(
                    "Recall@1 gained over SPC-4 in points: mean over losses with its 95 % interval, single losses as "
                    "dots."
                ),
                draw=dot_rows({data: one.dots()}, {data: 0.0}, "Recall@1 less that of SPC-4, points"),
                size=(5.2, 3.2),
            )
        ],
        limits=[
            "Settings were searched with SPC-4, which favours it if anything.",
            "A linear head on frozen features alone: what a loss sees in a batch matters less there than where a "
            "network is trained.",
            "Batches of 128 from 80 training classes: SPC-2 has 64 of them in a batch, SPC-4 32.",
            seeds_in_words(one.scores.values()),
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def samplers_of(recall: Table) -> Variants:
    """Return what each sampler gains over SPC-4, by loss."""
    return Variants(scores=recall, base=BASE, names={sampler: sampler for sampler in SAMPLERS})


def _range(recall: Table) -> float:
    """Return the distance of the best and the worst sampler by their means over losses."""
    by_sampler: dict[str, list[float]] = {}
    for label, value in means(recall).items():
        by_sampler.setdefault(split_label(label)[1], []).append(value)
    most = max(len(some) for some in by_sampler.values())
    averages = [fmean(some) for some in by_sampler.values() if len(some) == most]
    return max(averages) - min(averages)


def _answer(sampler: str, gain: Mean, line: float) -> Answer:
    ends = interval(gain.low, gain.high)
    return Answer(
        data=f"{sampler} beats {BASE}",
        verdict=effect_of(gain, line),
        sentence=(
            f"Mean gain in Recall@1 over the losses: {signed(gain.mean)} points, interval {ends}; "
            f"{points(line)} would matter."
        ),
    )
