"""C26: whether heads on frozen features give the order of losses that training the last stages of the network gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from studies.results.arithmetic import N_DRAWS, SEED, Correlation, at_once, spearman
from studies.results.claims.c15_transfer import BOUND
from studies.results.claims.c17_finetuning import published
from studies.results.figures import scatter_panels
from studies.results.page import (
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    above,
    interval,
    panel_size,
    points,
    table,
    verdict_of,
)
from studies.results.records import ExportedRun
from studies.results.select import UNTRAINED, Table, columns, means, split_label, values

from fairground.comparison.compare_values import compare_values

SETS = ("cub200", "cars196")
STUDIES = tuple(f"c26_foretelling_{name}" for name in SETS)
METRIC = "map@r"
HEAD, TUNED = "head", "last two stages"
N_LOSSES, N_SEEDS = 20, 3
#: the correlation, and what the choice costs on each set
LEVEL = at_once(1 + len(SETS))


@dataclass(frozen=True, kw_only=True)
class _Set:
    """One data set: test scores by kind, what heads score on validation classes, and the frozen network."""

    name: str
    kinds: Mapping[str, Table]
    validation: Mapping[str, float]
    frozen: float
    runs: Sequence[ExportedRun]

    @property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """The losses' means as heads and fine-tuned."""
        return columns(means(self.kinds[HEAD]), means(self.kinds[TUNED]))

    @property
    def choice(self) -> str:
        """The loss that is best among heads on validation classes."""
        return max(self.validation, key=lambda loss: self.validation[loss])

    @property
    def matters(self) -> float:
        """A tenth of what the best fine-tuned loss gains over the frozen network."""
        return max(0.0, max(means(self.kinds[TUNED]).values()) - self.frozen) / 10

    def ceiling(self, kind: str) -> float:
        """Return the mean rank correlation of the order of one seed with that of the others."""
        rows = np.array([list(row.values()) for row in self.kinds[kind].values()])
        others = [np.delete(rows, seed, axis=1).mean(axis=1) for seed in range(rows.shape[1])]
        return fmean(spearman(rows[:, seed], rest) for seed, rest in enumerate(others))

    def n_at_an_end(self, kind: str) -> int:
        """Return of how many losses the search chose the lowest or the highest rate."""
        rates: dict[str, float] = {}
        for run in self.runs:
            if run.is_final and run.method not in UNTRAINED and split_label(run.method)[1] == kind:
                rates[run.method] = run.settings["optimiser.lr"]
        tried = {r.settings["optimiser.lr"] for r in self.runs if r.kind == "trial" and r.method in rates}
        return sum(rate in (min(tried), max(tried)) for rate in rates.values())


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of both sets, once all their losses have all seeds."""
    by_set = [_set(name, [run for run in runs if run.study.endswith(f"_{name}")]) for name in SETS]
    sets = [one for one in by_set if one is not None]
    if len(sets) < len(SETS):
        return None
    found = _mean_correlation(sets)
    verdict = above(found, BOUND)
    said = {
        "holds": "Heads tell which losses to fine-tune with",
        "does not hold": "Heads do not tell which losses to fine-tune with",
        "cannot tell": "How far heads tell which losses to fine-tune with is open",
    }[verdict]
    return Page(
        name="c26_foretelling",
        title="C26. Do cheap studies predict real ones?",
        question=(
            "Do heads on frozen features order losses as training the last two stages of the network does, at one "
            "resolution and with the learning rate searched in both?"
        ),
        source="What every study of heads rests on; C17 changed resolution and network at once.",
        fixed="on 19 November 2026, before the runs",
        is_first_edition=False,
        counts=(
            "heads foretell fine-tuning if the mean over both sets of Spearman's correlation of the losses' mean test "
            "MAP@R is above 0.5 by its interval (losses resampled, the same in both sets), and do not if it is below. "
            "Choosing a loss by heads, on validation classes, costs nothing that matters if it is less than a tenth "
            "of what the best fine-tuned loss gains over the frozen network below that loss, by the interval that "
            "holds for all pairs, and costs something if the interval is above. The three intervals hold at once at "
            "95 %; otherwise these runs cannot tell."
        ),
        short=f"Mean rank correlation of {N_LOSSES} losses as heads and fine-tuned on both sets {found}.",
        headline=f"**{said}**: over {N_LOSSES} losses both orders correlate {found} on CUB and Cars, at 160 pixels.",
        answers=[
            Answer(
                data="heads foretell fine-tuning",
                verdict=verdict,
                sentence=f"Mean rank correlation over both sets {found}.",
            ),
            *map(_cost, sets),
        ],
        sections=[
            Section(heading="Both orders", text=_orders(sets)),
            *(Section(heading=SHORT[one.name], text=_table(one)) for one in sets),
        ],
        pictures=[
            Picture(
                name="c26_foretelling",
                caption="Test MAP@R in per cent as heads and with the last two stages trained, one mark per loss.",
                draw=scatter_panels({one.name: one.both for one in sets}, "heads, %", "last two stages, %", SHORT),
                size=panel_size(len(sets)),
            )
        ],
        limits=[
            "The last two stages of EfficientNet-Lite0, 160 pixels, three passes: not a whole network at full size.",
            "Losses at their defaults, with one rate for their own weights; other rates are searched, three each.",
            "One split of classes per set; the interval speaks of other losses, not of other data.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _set(name: str, runs: Sequence[ExportedRun]) -> _Set | None:
    """Return a data set whose losses have finished all seeds in both kinds."""
    done = [run for run in runs if run.is_final]
    frozen = [run.scores["test", METRIC] for run in done if run.method in UNTRAINED]
    trained = [run for run in done if run.method not in UNTRAINED]
    kinds: dict[str, Table] = {HEAD: {}, TUNED: {}}
    for label, row in values(trained, METRIC).items():
        loss, kind = split_label(label)
        kinds[kind][loss] = dict(sorted(row.items()))
    if not frozen or any(sum(len(row) >= N_SEEDS for row in one.values()) < N_LOSSES for one in kinds.values()):
        return None
    seen = means(values([run for run in trained if split_label(run.method)[1] == HEAD], METRIC, "validation"))
    validation = {split_label(label)[0]: score for label, score in seen.items()}
    return _Set(name=name, kinds=kinds, validation=validation, frozen=fmean(frozen), runs=runs)


def _mean_correlation(sets: Sequence[_Set]) -> Correlation:
    """Return the mean over sets of the rank correlation of both kinds, with its interval over losses."""
    losses = list(sets[0].kinds[HEAD])
    found = [{kind: means(one.kinds[kind]) for kind in (HEAD, TUNED)} for one in sets]
    scores = np.array([[[one[kind][loss] for loss in losses] for kind in (HEAD, TUNED)] for one in found])

    def mean(some: np.ndarray) -> float:
        return fmean(spearman(*one) for one in some)

    rows = np.random.default_rng(SEED).integers(0, len(losses), (N_DRAWS, len(losses)))
    low, high = np.nanquantile([mean(scores[..., row]) for row in rows], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Correlation(value=mean(scores), low=float(low), high=float(high))


def _cost(one: _Set) -> Answer:
    """Return what choosing the loss by heads costs under fine-tuning."""
    compared = compare_values(one.kinds[TUNED], level=LEVEL)
    best = compared.methods[0].name
    cost, low, high = 0.0, 0.0, 0.0
    if best != one.choice:
        pair = compared.pair(best, one.choice)
        assert pair.low is not None
        assert pair.high is not None
        cost, low, high = pair.difference, pair.low, pair.high
    return Answer(
        data=f"{SHORT[one.name]}: choosing by heads costs nothing that matters",
        verdict=verdict_of(holds=high < one.matters, fails=low > one.matters),
        sentence=(
            f"Heads choose {one.choice}, {points(cost)} points of MAP@R below the best ({best}), interval "
            f"{interval(low, high)}; {points(one.matters)} would matter."
        ),
    )


def _orders(sets: Sequence[_Set]) -> str:
    rows = []
    for one in sets:
        for kind in (HEAD, TUNED):
            paper = spearman(*columns(published(one.name), means(one.kinds[kind])))
            ends = f"{one.n_at_an_end(kind)} of {N_LOSSES}"
            rows.append([f"{SHORT[one.name]}, {kind}", f"{one.ceiling(kind):+.2f}", f"{paper:+.2f}", ends])
        rows.append([f"{SHORT[one.name]}, both", f"{spearman(*one.both):+.2f}", "", ""])
    header = ["order", "rank correlation of a seed with the others, or of both", "with Musgrave et al.'s 14 losses"]
    return table([*header, "rates at an end of their grid"], rows)


def _table(one: _Set) -> str:
    heads = means(one.kinds[HEAD])
    rows = [[loss, points(score), points(heads[loss])] for loss, score in means(one.kinds[TUNED]).items()]
    text = table(["loss, test MAP@R", TUNED, HEAD], rows)
    return f"{text}\n\nThe frozen network, where both begin, has {points(one.frozen)}."
