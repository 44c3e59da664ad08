"""C20: whether the standard split of a data set is a sample of random halves of its classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

import numpy as np
from scipy import stats
from studies.results.arithmetic import spearman
from studies.results.figures import Dot, dot_rows
from studies.results.page import SHORT, Answer, Page, Picture, Section, listed, points, signed, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import UNTRAINED, Table, columns, means, values

STUDIES = ("c20_splits_cub200", "c20_splits_cars196", "c20_splits_flowers102")
METRIC = "map@r"
STANDARD = "standard"
#: fewer random splits than this predict nothing
LEAST_SPLITS = 4
#: level of the prediction interval of each of three looks per data set, 94 % at once at least
LEVEL = 0.98


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One number of the standard split beside those of the random ones, and whether it is an outlier among them."""

    standard: float
    random: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean over random splits."""
        return fmean(self.random)

    @property
    def half_width(self) -> float:
        """Half of the interval in which one more random split would be."""
        n = len(self.random)
        return float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * stdev(self.random) * sqrt(1 + 1 / n)

    @property
    def is_outlier(self) -> bool:
        """Whether the standard split is outside."""
        return abs(self.standard - self.mean) > self.half_width


@dataclass(frozen=True, kw_only=True)
class _Set:
    """One data set: scores by split, method and seed."""

    name: str
    tables: Mapping[str, Table]

    @property
    def randoms(self) -> list[str]:
        return [split for split in self.tables if split != STANDARD]

    def untrained(self, split: str) -> float:
        """Return what the network scores before training."""
        return fmean(value for name in UNTRAINED for value in self.tables[split].get(name, {}).values())

    def trained(self, split: str, kind: str = "default") -> dict[str, float]:
        """Return the means of losses at one kind of settings, best first."""
        found = {name.removesuffix(f", {kind}"): row for name, row in self.tables[split].items() if name.endswith(kind)}
        return means(found)

    def gain(self, split: str) -> float:
        """Return what losses gain over the untrained network on average."""
        found = {name: row for name, row in self.tables[split].items() if name not in UNTRAINED}
        return fmean(means(found).values()) - self.untrained(split)

    def agreement(self, split: str) -> float:
        """Return the mean rank correlation of a split's order with those of the random ones, itself left out."""
        mine = self.trained(split)
        others = [other for other in self.randoms if other != split]
        return fmean(spearman(*columns(mine, self.trained(other))) for other in others)

    def compared(self) -> dict[str, Compared]:
        """Return the three looks."""
        looks = {"level": self.untrained, "gain": self.gain, "order": self.agreement}
        return {
            name: Compared(standard=look(STANDARD), random=[look(split) for split in self.randoms])
            for name, look in looks.items()
        }


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the sets whose standard split and enough random ones are finished."""
    sets = [one for study in STUDIES if (one := _set(study, [run for run in runs if run.study == study])) is not None]
    if not sets:
        return None
    compared = {one.name: one.compared() for one in sets}
    used = [run for run in runs if run.study.rpartition("_")[2] in compared]
    return Page(
        name="c20_splits",
        title="C20. Is the standard split a sample?",
        question=(
            "Every paper trains on the first half of the classes and tests on the second. Does that split score like a "
            "random half of the classes, and does the order of losses survive another split?"
        ),
        source="What every table with one split rests on; neither paper tries another one.",
        fixed="on 18 November 2026, before the runs",
        is_first_edition=False,
        counts=(
            "the standard split is a sample if it is within the interval in which ten random splits predict an "
            "eleventh (98 %, three looks per data set): in test MAP@R of the untrained network (level), in what losses "
            "gain over it on average, at their defaults and with published settings (gain), and in the mean rank "
            "correlation of its order of 25 losses at their defaults with those of the random splits (order)."
        ),
        short="; ".join(_short(name, one) for name, one in compared.items()) + ".",
        headline=_headline(compared),
        answers=[
            Answer(
                data=f"{SHORT[name]}: the {look} is that of a random split",
                verdict=verdict_of(holds=not found.is_outlier, fails=found.is_outlier),
                sentence=_in_words(look, found),
            )
            for name, one in compared.items()
            for look, found in one.items()
        ],
        sections=[
            Section(heading="Every split", text=_splits(sets)),
            Section(heading="Which loss is first", text=_winners(sets)),
        ],
        pictures=[
            Picture(
                name="c20_splits",
                caption=(
                    "Test MAP@R in per cent of the untrained network and of 25 losses at their defaults (dots; the "
                    "mark is their mean) with the standard split and with random halves of the classes."
                ),
                draw=dot_rows({one.name: _dots(one) for one in sets}, dict.fromkeys(compared), "MAP@R, %"),
                size=(4.4 * len(sets), 3.6),
            )
        ],
        limits=[
            "Heads on frozen features; 2 seeds per loss and split; settings are defaults, or those published for CUB.",
            "Random splits share classes with each other, so that they differ less than splits of new classes would.",
            "The agreements of random splits with each other are not independent, so that the interval of the order is "
            "approximate.",
            "A look within the interval would not show that the split is typical, only that ten splits cannot tell it "
            "from a random one.",
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


def _set(study: str, runs: Sequence[ExportedRun]) -> _Set | None:
    finished = [run for run in runs if run.is_final]
    by_split: dict[str, list[ExportedRun]] = {}
    for run in finished:
        by_split.setdefault(run.data, []).append(run)
    most = max((len(some) for some in by_split.values()), default=0)
    tables = {split: values(some, METRIC) for split, some in by_split.items() if len(some) == most}
    if STANDARD not in tables or len(tables) <= LEAST_SPLITS:
        return None
    return _Set(name=study.rpartition("_")[2], tables=tables)


def _in_words(look: str, found: Compared) -> str:
    if look == "order":
        cells = [f"{found.standard:+.2f}", f"{found.mean:+.2f}", f"{found.half_width:.2f}"]
    else:
        cells = [points(value) for value in (found.standard, found.mean, found.half_width)]
    return f"{cells[0]} with the standard split, {cells[1]} ± {cells[2]} with {len(found.random)} random ones."


def _short(name: str, one: Mapping[str, Compared]) -> str:
    level, order = (_in_words(look, one[look]).rstrip(".") for look in ("level", "order"))
    return f"{SHORT[name]}: untrained MAP@R {level}; rank correlation with the orders of random splits {order}"


def _headline(compared: Mapping[str, Mapping[str, Compared]]) -> str:
    outside = {name: one for name, one in compared.items() if one["level"].is_outlier}
    if not outside:
        return ""
    levels = [
        f"{points(one.standard)} MAP@R on it, where a random half of the classes would have "
        f"{points(one.mean - one.half_width)} to {points(one.mean + one.half_width)}"
        for one in (found["level"] for found in outside.values())
    ]
    orders = [
        f"{one.standard:+.2f} with those on random halves, these {one.mean:+.2f} with each other"
        for one in (found["order"] for found in outside.values())
    ]
    inside = [SHORT[name] for name in compared if name not in outside]
    names = listed([SHORT[name] for name in outside])
    return (
        f"**The standard split of {names} is not a random one.** The untrained network has {listed(levels)}; the order "
        f"of losses on it correlates {listed(orders)}."
        + (f" On {listed(inside)} no such difference is shown." if inside else "")
    )


def _splits(sets: Sequence[_Set]) -> str:
    rows = []
    for one in sets:
        for split in (STANDARD, *one.randoms):
            cells = [points(one.untrained(split)), signed(one.gain(split)), f"{one.agreement(split):+.2f}"]
            rows.append([f"{SHORT[one.name]}, {split}", *cells])
    header = ["split", "untrained MAP@R", "mean gain of the losses", "agreement of its order with others"]
    note = "The gain is that of 25 losses at their defaults and 14 with published settings, the order that of the 25."
    return f"{table(header, rows)}\n\n{note}"


def _winners(sets: Sequence[_Set]) -> str:
    rows = []
    for one in sets:
        orders = {split: list(one.trained(split)) for split in (STANDARD, *one.randoms)}
        winner = orders[STANDARD][0]
        places = [orders[split].index(winner) + 1 for split in one.randoms]
        firsts = len({orders[split][0] for split in one.randoms})
        rows.append(
            [SHORT[one.name], winner, f"{min(places)} to {max(places)}, median {np.median(places):g}", str(firsts)]
        )
    header = [
        "data",
        "first with the standard split",
        "its place with random ones",
        "different winners among random ones",
    ]
    return f"{table(header, rows, n_text=3)}\n\n25 losses at their defaults."


def _dots(one: _Set) -> list[Dot]:
    found: list[Dot] = []
    for split in (STANDARD, *one.randoms):
        start, scores = 100 * one.untrained(split), [100 * value for value in one.trained(split).values()]
        found.append((f"{split}, untrained", start, start, start, []))
        found.append((f"{split}, trained", fmean(scores), min(scores), max(scores), scores))
    return found
