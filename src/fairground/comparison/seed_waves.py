"""Seeds in waves, until it is settled: which methods need more seeds, and verdicts that stay valid over repeated looks.

Formula
    Looks after n_1 < n_2 < ... < n_T = limit seeds. Look t may err with probability
        e_t = (1 - level) (f(n_t) - f(n_{t-1})),   f(n) = (n / limit)^SPENDING,
    so that all looks add up to 1 - level, whatever was added to which method between them. Every look has the intervals
    of `compare_values` at e_t; a pair's interval is the intersection of the intervals of all looks so far.
    p of a pair = the least over looks of p_t (1 - level) / e_t
    in question: the leader and every method that is neither beaten nor settled against the leader

Paper
    Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 1983, for spending the error.
    Kim and DeMets, "Design and analysis of group sequential tests based on the type I error spending rate function",
    Biometrika 1987, for powers of n / limit.

Departures from the paper
    Lan and DeMets use the correlation of looks; here their errors are added up, which holds for any way of giving seeds
    to some methods and not to others.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fairground.comparison import Comparison, Pair, Prospect, Runs, Values, compare_runs, conclude, default_margin
from fairground.spec import UntilSettledSpec, require

#: how late the error is spent: 1 evenly over seeds, more for later
SPENDING = 1.5


@dataclass(frozen=True, kw_only=True)
class Wave:
    """Where a study in waves stands after `n_looks` looks.

    `given` are the seeds each method was given so far, `needs` those of them it still has to run, and `seeds` counts
    those that are done. `in_question` get more seeds, or would without the limit. `comparison` corrects for all looks,
    None before the first.
    """

    given: Mapping[str, tuple[Any, ...]]
    in_question: tuple[str, ...]
    plan: UntilSettledSpec
    seeds: Mapping[str, int] = field(default_factory=dict)
    needs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    comparison: Comparison | None = None
    n_looks: int = 0
    state: Literal["running", "settled", "limit"] = "running"

    @property
    def sentence(self) -> str:
        listed, names = ", ".join(f"{method} {n}" for method, n in self.seeds.items()), ", ".join(self.in_question)
        looks = f"{self.n_looks} look{'' if self.n_looks == 1 else 's'}"
        if self.state == "settled":
            return f"settled after {looks}; seeds: {listed}"
        if self.state == "running":
            return f"{looks} so far; seeds: {listed}; more seeds follow for {names}"
        return f"the limit of {self.plan.limit} seeds is reached after {looks}; seeds: {listed}; still open: {names}"

    def to_plain(self) -> dict[str, Any]:
        counts = {"given": {method: len(seeds) for method, seeds in self.given.items()}, "seeds": dict(self.seeds)}
        now = {"in_question": self.in_question, "n_looks": self.n_looks, "state": self.state}
        return {**counts, **now, "limit": self.plan.limit}


def next_wave(
    values: Values,
    plan: UntilSettledSpec,
    *,
    seeds: Sequence[Any] | None = None,
    lost: Collection[tuple[str, Any]] = (),
    margin: float | None = None,
    higher_is_better: bool = True,
) -> Wave:
    """Look as often as the runs allow, and say what to run next.

    `seeds` is the order in which seeds are given out, by default 0, 1, 2, ...; `values` names every method, those
    without a run too; `lost` are runs that failed. Runs on seeds that a method was not given do not count. The same
    values give the same waves: there is no other state.
    """
    order = tuple(seeds) if seeds is not None else tuple(range(plan.limit))
    require(len(order) >= plan.limit, f"seeds must name at least limit, {plan.limit}, of them; got {len(order)}")
    wave = Wave(given={}, in_question=tuple(values), plan=plan)
    margin = _margin(values) if margin is None else margin
    for number, n_seeds in enumerate(plan.looks):
        given = {**wave.given, **dict.fromkeys(wave.in_question, order[:n_seeds])}
        missing = {
            name: tuple(s for s in given[name] if s not in values.get(name, {}) and (name, s) not in lost)
            for name in wave.in_question
        }
        needs = {name: found for name, found in missing.items() if found}
        done = {name: sum(seed in values.get(name, {}) for seed in seeds) for name, seeds in given.items()}
        wave, runs = replace(wave, given=given, seeds=done), _given_runs(values, given)
        if needs or runs is None:
            return replace(wave, needs=needs)
        found = look(runs, plan, number, wave.comparison, margin=margin, higher_is_better=higher_is_better)
        wave = replace(wave, comparison=found, in_question=in_question(found), n_looks=number + 1)
        if not wave.in_question:
            return replace(wave, state="settled")
    return replace(wave, state="limit")


def errors_of(plan: UntilSettledSpec) -> tuple[float, ...]:
    spent = [(n / plan.limit) ** SPENDING for n in plan.looks]
    return tuple((1 - plan.level) * (now - then) for then, now in zip([0.0, *spent], spent, strict=False))


def compare_in_waves(
    values: Values, wave: Wave, *, margin: float | None = None, higher_is_better: bool = True
) -> Comparison:
    """Compare by any metric the runs of a study whose waves were `wave`; every look counts as a look at this metric."""
    margin = _margin(values) if margin is None else margin
    comparison: Comparison | None = None
    for number, n_seeds in enumerate(wave.plan.looks[: wave.n_looks]):
        runs = _given_runs(values, {name: seeds[:n_seeds] for name, seeds in wave.given.items()})
        if runs is not None:
            comparison = look(runs, wave.plan, number, comparison, margin=margin, higher_is_better=higher_is_better)
    if comparison is None:
        runs = Runs.from_values({name: found for name, found in values.items() if found})
        level = wave.plan.level
        comparison = conclude(runs, None, level=level, margin=margin, higher_is_better=higher_is_better)
    prospect: Prospect = "follow" if wave.state == "running" else "limit"
    pairs = []
    for pair in comparison.pairs:
        is_asked = wave.state != "settled" and pair.a in wave.in_question and pair.b in wave.in_question
        pairs.append(replace(pair, more_seeds=None, prospect=prospect if is_asked else "none"))
    return replace(comparison, pairs=tuple(pairs))


def look(
    runs: Runs, plan: UntilSettledSpec, number: int, before: Comparison | None, *, margin: float, higher_is_better: bool
) -> Comparison:
    """Return what look `number`, counted from 0, adds to the comparison `before` it."""
    error = errors_of(plan)[number]
    # Intervals of single means pay for the look as well.
    now = compare_runs(runs, error=error, level=1 - error, margin=margin, higher_is_better=higher_is_better)
    earlier = {} if before is None else {frozenset((pair.a, pair.b)): pair for pair in before.pairs}
    share = error / (1 - plan.level)
    pairs = tuple(
        _narrowed(replace(pair, level=plan.level), earlier.get(frozenset((pair.a, pair.b))), share)
        for pair in now.pairs
    )
    beaten = {pair.b for pair in pairs if pair.verdict == "better"}
    methods = tuple(replace(method, is_among_best=method.name not in beaten) for method in now.methods)
    return replace(now, level=plan.level, methods=methods, pairs=pairs)


def in_question(comparison: Comparison) -> tuple[str, ...]:
    """Return the leader and the methods it is not settled against; none once it is settled."""
    leader, *others = comparison.best
    open_ones = [name for name in others if comparison.pair(leader, name).verdict == "unsettled"]
    return (leader, *open_ones) if open_ones else ()


def _margin(values: Values) -> float:
    known = {name: found for name, found in values.items() if found}
    return default_margin(Runs.from_values(known)) if known else 0.5


def _given_runs(values: Values, given: Mapping[str, Collection[Any]]) -> Runs | None:
    found = {name: {s: x for s, x in values.get(name, {}).items() if s in seeds} for name, seeds in given.items()}
    known = {name: some for name, some in found.items() if some}
    return Runs.from_values(known) if known else None


def _narrowed(now: Pair, before: Pair | None, share: float) -> Pair:
    """Return the pair with what its two intervals have in common, or as it is now where they have nothing."""
    now = replace(now, p=min(1.0, now.p / share), p_alone=min(1.0, now.p_alone / share))
    if before is None or before.low is None or before.high is None or now.low is None or now.high is None:
        return now
    turned = before.a != now.a
    ends = (-before.high, -before.low) if turned else (before.low, before.high)
    low, high = max(now.low, ends[0]), min(now.high, ends[1])
    ahead = (low, high) if now.higher_is_better else (-high, -low)
    if low > high or ahead[1] <= 0:
        return now
    p = min(now.p, before.p)
    common = replace(now, low=low, high=high, p=p, p_alone=min(now.p_alone, before.p_alone))
    if ahead[0] > 0:
        return replace(common, verdict="better", reason="interval leaves out 0", more_seeds=None)
    if common.is_small:
        return replace(common, verdict="equivalent", reason="within margin", more_seeds=None)
    return common
