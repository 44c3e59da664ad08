"""From numbers to verdicts: what a model found of means and pairs, turned into the comparison that everybody reads."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairground.statistics.comparison import Comparison, Estimate, Pair, Reason, Verdict
from fairground.statistics.layout import Array
from fairground.statistics.runs import Runs


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelFindings:
    """What a model says of the methods `names`, higher being better; pairs are in the order of `triu_indices`.

    `half_widths` are those of differences, `mean_half_widths` those of single means; `more_seeds` is 0 for none known.
    """

    names: tuple[str, ...]
    means: Array
    half_widths: Array
    p: Array
    p_alone: Array
    more_seeds: NDArray[np.int64]
    mean_half_widths: Array
    probabilities: Array

    def numbers(self) -> list[tuple[float, float, float, int]]:
        """Return half width, corrected and single p, and seeds needed of each pair."""
        single = np.minimum(self.p, self.p_alone)
        parts = (self.half_widths, self.p, single, self.more_seeds)
        return list(zip(*(part.tolist() for part in parts), strict=True))


def conclude(
    runs: Runs, findings: ModelFindings | None, *, level: float, margin: float, higher_is_better: bool
) -> Comparison:
    """Return the comparison of all methods of `runs`; those without findings have a mean and nothing else."""
    sign = 1.0 if higher_is_better else -1.0
    averages, counts = runs.averages, runs.counts
    known = {} if findings is None else {name: i for i, name in enumerate(findings.names)}
    means = {
        name: float(findings.means[known[name]]) if findings is not None and name in known else sign * float(average)
        for name, average in zip(runs.names, averages, strict=True)
    }
    order = sorted(range(len(counts)), key=lambda i: (-means[runs.names[i]], runs.names[i]))
    numbers = [] if findings is None else findings.numbers()
    places = [known.get(name) for name in runs.names]
    concluded = _Pairs(runs=runs, means=means, places=places, numbers=numbers, level=level, margin=margin, sign=sign)
    pairs = tuple(concluded.pair(i, j) for place, i in enumerate(order) for j in order[place + 1 :])
    beaten = {pair.b for pair in pairs if pair.verdict == "better"}
    methods = []
    for i in order:
        name = runs.names[i]
        mean, at = sign * means[name], known.get(name)
        half = None if findings is None or at is None else float(findings.mean_half_widths[at])
        # Among some methods only, nobody can be called the best of all.
        chance = None if findings is None or len(known) < len(order) else float(findings.probabilities[known[name]])
        methods.append(
            Estimate(
                name=name,
                mean=mean,
                average=float(averages[i]),
                low=None if half is None else mean - half,
                high=None if half is None else mean + half,
                n=int(counts[i]),
                probability_best=chance,
                is_among_best=name not in beaten,
            )
        )
    return Comparison(
        methods=tuple(methods), pairs=pairs, level=level, margin=margin, higher_is_better=higher_is_better
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    runs: Runs
    means: dict[str, float]
    #: which method of the model each method is, if any
    places: list[int | None]
    numbers: list[tuple[float, float, float, int]]
    level: float
    margin: float
    sign: float

    @cached_property
    def n_shared(self) -> list[list[int]]:
        """On how many seeds two methods were both run; with itself, on how many a method was."""
        has_run = self.runs.has_run.astype(np.float64)
        shared: list[list[int]] = (has_run @ has_run.T).astype(np.int64).tolist()
        return shared

    def pair(self, i: int, j: int) -> Pair:
        """Return the pair of methods i and j, i having the higher mean."""
        a, b = self.runs.names[i], self.runs.names[j]
        ahead = self.means[a] - self.means[b]
        known = self._known(i, j)
        half, p, p_alone, needed = (0.0, 1.0, 1.0, 0) if known is None else known
        ends = sorted((self.sign * (ahead - half), self.sign * (ahead + half)))
        verdict, reason = self._verdict(ahead, half, p_alone) if known else ("unsettled", "too few runs")
        return Pair(
            a=a,
            b=b,
            difference=self.sign * ahead,
            low=ends[0] if known else None,
            high=ends[1] if known else None,
            p=p,
            p_alone=p_alone,
            verdict=verdict,
            reason=reason,
            n_a=self.n_shared[i][i],
            n_b=self.n_shared[j][j],
            n_shared=self.n_shared[i][j],
            more_seeds=needed if verdict == "unsettled" and needed else None,
            n_pairs=len(self.numbers),
            margin=self.margin,
            level=self.level,
            higher_is_better=self.sign > 0,
        )

    def _known(self, i: int, j: int) -> tuple[float, float, float, int] | None:
        """Return what the model says of two methods, by their place in the order of `triu_indices`."""
        one, other = self.places[i], self.places[j]
        if one is None or other is None:
            return None
        low, high = min(one, other), max(one, other)
        n = self.n_modelled
        return self.numbers[low * n - low * (low + 1) // 2 + high - low - 1]

    @cached_property
    def n_modelled(self) -> int:
        """How many methods the model has."""
        return sum(place is not None for place in self.places)

    def _verdict(self, ahead: float, half: float, p_alone: float) -> tuple[Verdict, Reason]:
        if ahead - half > 0:
            return "better", "interval leaves out 0"
        if ahead + half < self.margin and half - ahead < self.margin:
            return "equivalent", "within margin"
        return "unsettled", "separated alone" if p_alone <= 1 - self.level else "interval holds 0"
