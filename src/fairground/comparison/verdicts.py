"""From numbers to verdicts: what a model found of means and pairs, turned into the comparison that everybody reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fairground.comparison.comparison import Comparison, Estimate, Pair, Reason, Verdict
from fairground.comparison.layout import Array, Mask
from fairground.comparison.runs import Runs


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
    pairs = PairsInOrder(
        runs=runs,
        findings=findings,
        order=order,
        means=np.array([means[runs.names[i]] for i in order]),
        places=np.array([known.get(runs.names[i], -1) for i in order], dtype=np.int64),
        level=level,
        margin=margin,
        sign=sign,
    )
    beaten = pairs.beaten
    methods = []
    for place, i in enumerate(order):
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
                is_among_best=not beaten[place],
            )
        )
    return Comparison(
        methods=tuple(methods), pairs=pairs, level=level, margin=margin, higher_is_better=higher_is_better
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PairsInOrder(Sequence[Pair]):
    """Every two methods, the leading one first, each made when it is first asked for: of 200 methods there are 19,900.

    `order` are the methods of `runs` from best to worst, `means` theirs with higher being better, and `places` which
    method of the model each is, -1 for none.
    """

    runs: Runs
    findings: ModelFindings | None
    order: list[int]
    means: Array
    places: NDArray[np.int64]
    level: float
    margin: float
    sign: float
    _made: dict[int, Pair] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.order) * (len(self.order) - 1) // 2

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, index: int | slice) -> Pair | tuple[Pair, ...]:
        chosen = range(len(self))[index]
        if isinstance(chosen, range):
            return tuple(self[number] for number in chosen)
        if chosen not in self._made:
            self._made[chosen] = self._pair(chosen)
        return self._made[chosen]

    def __iter__(self) -> Iterator[Pair]:
        return (self._made.get(number) or self[number] for number in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    @cached_property
    def beaten(self) -> Mask:
        """Which methods of the order another is better than."""
        found: Mask = np.zeros(len(self.order), dtype=bool)
        _, b = self._ends
        found[b[self._is_known & (self._ahead - self._half > 0)]] = True
        return found

    @cached_property
    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where in the order the two methods of every pair are."""
        return np.triu_indices(len(self.order), 1)

    @cached_property
    def _ahead(self) -> Array:
        a, b = self._ends
        found: Array = self.means[a] - self.means[b]
        return found

    @cached_property
    def _is_known(self) -> Mask:
        """Whether the model has both methods of a pair."""
        a, b = self._ends
        found: Mask = (self.places[a] >= 0) & (self.places[b] >= 0)
        return found

    @cached_property
    def _in_model(self) -> NDArray[np.int64]:
        """Which pair of the model each is; where it has none, any."""
        a, b = (self.places[ends] for ends in self._ends)
        low, high, n = np.minimum(a, b), np.maximum(a, b), int((self.places >= 0).sum())
        return np.where(self._is_known, low * n - low * (low + 1) // 2 + high - low - 1, 0)

    @cached_property
    def _half(self) -> Array:
        if self.findings is None or not self._is_known.any():
            return np.zeros(len(self))
        return self.findings.half_widths[self._in_model]

    @cached_property
    def _n_shared(self) -> list[list[int]]:
        """On how many seeds two methods were both run; with itself, on how many a method was."""
        has_run = self.runs.has_run.astype(np.float64)
        shared: list[list[int]] = (has_run @ has_run.T).astype(np.int64).tolist()
        return shared

    @cached_property
    def _numbers(self) -> list[tuple[int, int, bool, float, float, float, float, int]]:
        """All there is on every pair: its ends in the order, whether it is known, difference, half width and chances.

        As plain numbers: thousands of pairs are made of them, and picking one out of an array takes longer than that.
        """
        columns = (*self._ends, self._is_known, self._ahead, self._half, *self._chances)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def _pair(self, number: int) -> Pair:
        a, b, is_known, ahead, half, p, p_alone, needed = self._numbers[number]
        i, j = self.order[a], self.order[b]
        ends = sorted((self.sign * (ahead - half), self.sign * (ahead + half)))
        verdict, reason = self._verdict(ahead, half, p_alone) if is_known else ("unsettled", "too few runs")
        return Pair(
            a=self.runs.names[i],
            b=self.runs.names[j],
            difference=self.sign * ahead,
            low=ends[0] if is_known else None,
            high=ends[1] if is_known else None,
            p=p,
            p_alone=p_alone,
            verdict=verdict,
            reason=reason,
            n_a=self._n_shared[i][i],
            n_b=self._n_shared[j][j],
            n_shared=self._n_shared[i][j],
            more_seeds=needed if verdict == "unsettled" and needed else None,
            n_pairs=0 if self.findings is None else len(self.findings.p),
            margin=self.margin,
            level=self.level,
            higher_is_better=self.sign > 0,
        )

    @property
    def _chances(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """The corrected and the single p of every pair, and how many seeds it needs."""
        if self.findings is None or not self._is_known.any():
            return np.ones(len(self)), np.ones(len(self)), np.zeros(len(self), dtype=np.int64)
        found, at, is_known = self.findings, self._in_model, self._is_known
        p, needed = np.where(is_known, found.p[at], 1.0), np.where(is_known, found.more_seeds[at], 0)
        return p, np.minimum(p, np.where(is_known, found.p_alone[at], 1.0)), needed

    def _verdict(self, ahead: float, half: float, p_alone: float) -> tuple[Verdict, Reason]:
        if ahead - half > 0:
            return "better", "interval leaves out 0"
        if ahead + half < self.margin and half - ahead < self.margin:
            return "equivalent", "within margin"
        return "unsettled", "separated alone" if p_alone <= 1 - self.level else "interval holds 0"
