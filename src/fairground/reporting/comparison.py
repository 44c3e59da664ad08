"""Methods compared: table, verdicts and fairness, as text and JSON.

The fairness rules come first. An unfair comparison is not shown, or, on request, shown with every row and verdict
marked. The model is fitted once, when the result is built; pages, tables and figures read this one object.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from fairground.comparison.comparison_result import LEVEL, Comparison, Estimate, GeneralityKind, Pair, sentence_of
from fairground.comparison.fairness_flags import FairnessResult, check_fairness
from fairground.comparison.generality import Generality
from fairground.comparison.run_scores import join_folds
from fairground.errors import require
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder
from fairground.reporting.headings import heading, shorten, show, unit
from fairground.reporting.methods import ClassScores
from fairground.reporting.table_formats import folded
from fairground.reporting.table_formats import text as table_text
from fairground.reporting.tables import UNFAIR, ResultTable, TableRow
from fairground.spec.space import Range

#: every pair of six methods
MOST_TO_READ = 15


@dataclass(frozen=True, kw_only=True)
class ComparisonResult:
    """Whether some methods may be compared, their table, and the comparison of them by `metric`."""

    fairness: FairnessResult
    table: ResultTable
    comparison: Comparison
    metric: str

    @classmethod
    def from_records(
        cls,
        records: Iterable[RunRecord],
        *,
        metric: str | None = None,
        ranges: Mapping[str, Range] | None = None,
        names: Mapping[str, str] | None = None,
        level: float = LEVEL,
        margin: float | None = None,
        over: GeneralityKind = "seeds",
        folders: Mapping[str, RunFolder] | None = None,
        has_all_metrics: bool = False,
    ) -> "ComparisonResult":
        """Compare the methods of some runs by `metric`, by default the metric of selection; folds are averaged.

        `names` are the names of methods, by their hash once folds are averaged. `margin` is in the unit shown. `over`
        is what verdicts hold over; other than seeds it needs the `folders` of the runs. The table has one column for a
        given metric, unless it `has_all_metrics`.
        """
        kept = tuple(records)
        table = ResultTable.from_records(
            join_folds(kept),
            metrics=None if metric is None or has_all_metrics else (metric,),
            primary=metric,
            names=names,
            level=level,
            margin=margin,
            over=over,
            classes=ClassScores(records=kept, folders=folders or {}),
        )
        return cls.from_table(table, ranges=ranges)

    @classmethod
    def from_table(cls, table: ResultTable, *, ranges: Mapping[str, Range] | None = None) -> "ComparisonResult":
        """Return whether the methods of a table may be compared, with the comparison of the table."""
        metric = table.primary
        comparison = table.comparisons.get(metric)
        require(comparison is not None, "no run has finished, so there is nothing to compare")
        assert comparison is not None
        # Without a direction no method is called better.
        has_direction = table.higher_is_better[metric] is not None
        fairness = check_fairness(
            {method.label: method.records for method in table.methods},
            metric=metric,
            split=table.split,
            claims=[(pair.a, pair.b) for pair in comparison.pairs if pair.verdict == "better" and has_direction],
            ranges=ranges,
            comparison=comparison,
        )
        shown = table if fairness.is_fair else table.marked_unfair()
        return cls(fairness=fairness, table=shown, comparison=comparison, metric=metric)

    @property
    def pairs(self) -> Sequence[Pair]:
        return self.comparison.pairs

    @property
    def best(self) -> tuple[str, ...]:
        """Every method that no other is better than; empty without a direction."""
        return self.comparison.best if self.has_direction else ()

    @property
    def is_fair(self) -> bool:
        return self.fairness.is_fair

    def refusal(self) -> str:
        """Return every difference with why it matters."""
        return "\n".join([self.fairness.refusal(), *_listed(_differences(self.fairness))])

    def text(self, *, hints: Sequence[str] = (), width: int | None = None) -> str:
        """Return table, verdicts, flags and hints for a terminal of some width."""
        mark = "" if self.is_fair else UNFAIR
        lines: list[str] = []
        if self.pairs:
            lines.append(self.how_to_read())
        shown = self.pairs_to_read()
        lines += _listed(mark + verdict for verdict in self._verdicts(shown))
        if len(shown) < len(self.pairs):
            lines += _listed([f"and {len(self.pairs) - len(shown)} pairs without the first method: --json has all"])
        lines += [*self.reservations(), *_titled("Hints:", hints)]
        further = "".join(f"{line}\n" for line in lines)
        return f"{table_text(self.table, width=width)}\n{folded(further, width)}"

    def reservations(self) -> list[str]:
        """Return what is unfair and the caveats, as lines."""
        flags = [f"{flag.flag}: {flag}" for flag in self.fairness.flags]
        return [
            *_titled("Unfair, and shown anyway:", _differences(self.fairness)),
            *_titled("Caveats:", flags),
        ]

    def _verdicts(self, pairs: Sequence[Pair]) -> list[str]:
        """Return a sentence for each pair; those that only lack a second run share one."""
        lacking = [pair for pair in pairs if pair.low is None and pair.prospect == "advised"]
        if len(lacking) < 2:
            return [self.sentence(pair) for pair in pairs]
        known = [self.sentence(pair) for pair in pairs if pair not in lacking]
        return [*known, f"no verdict on {len(lacking)} pairs: a verdict needs at least two runs of each method"]

    def how_to_read(self) -> str:
        """Return the metric of the comparison and what its intervals guarantee."""
        found, n_pairs = self.comparison, len(self.pairs)
        if not self.has_intervals:
            return f"By {heading(self.metric)}; single runs have no interval:"
        margin = f"{show(self.metric, found.margin)}{unit(self.metric)}"
        at_once = f"intervals of all {n_pairs} pairs hold at once" if n_pairs > 1 else "the interval holds"
        looks = "" if self.table.waves is None else " over all looks"
        held = f"{at_once}{looks} at {100 * found.level:g} %{self._over_what()}"
        return f"By {heading(self.metric)}, {held}; equivalent is within ±{margin}:"

    @property
    def has_intervals(self) -> bool:
        """Tell whether any pair has an interval, so that there can be verdicts."""
        return any(pair.low is not None for pair in self.pairs)

    def _over_what(self) -> str:
        """Return what a verdict holds over, where that is not seeds alone."""
        kinds = {"classes": " for other test classes", "both": " for other seeds and test classes at once"}
        return kinds.get(self.pairs[0].over, "") if self.pairs else ""

    def pairs_to_read(self) -> list[Pair]:
        """Return all pairs while they are few, otherwise those of the method with the best mean."""
        if len(self.pairs) <= MOST_TO_READ:
            return list(self.pairs)
        leader = (self.comparison.repeated.methods or self.comparison.methods)[0].name
        return [pair for pair in self.pairs if leader in (pair.a, pair.b)]

    @property
    def has_direction(self) -> bool:
        return self.table.higher_is_better[self.metric] is not None

    def sentence(self, pair: Pair) -> str:
        return sentence(pair, self.metric, has_direction=self.has_direction)

    def plain(self, *, is_shown: bool) -> dict[str, Any]:
        """Return everything as JSON-ready data; rows and verdicts only when they may be shown."""
        return {
            "is_fair": self.is_fair,
            "metric": self.metric,
            "higher_is_better": self.table.higher_is_better[self.metric],
            "split": self.table.split,
            "differences": [dict(vars(difference)) for difference in self.fairness.differences],
            "flags": [dict(vars(flag)) for flag in self.fairness.flags],
            "rows": [_plain_row(row, self.table.metrics) for row in self.table.rows] if is_shown else [],
            "level": self.comparison.level,
            "margin": self.comparison.margin,
            "pairs": [plain_pair(pair, self.sentence(pair)) for pair in self.pairs] if is_shown else [],
            "best": list(self.best) if is_shown else [],
        }


def sentence(pair: Pair, metric: str, *, has_direction: bool = True) -> str:
    """Return a verdict as a sentence, numbers as the metric is shown."""
    short = replace(pair, a=shorten(pair.a, 60), b=shorten(pair.b, 60))
    better = "" if has_direction else "higher"
    return sentence_of(short, show=lambda value: show(metric, value), unit=unit(metric), better=better)


def _differences(fairness: FairnessResult) -> list[str]:
    return [f"{difference.rule}: {difference}" for difference in fairness.differences]


def _titled(title: str, rows: Sequence[str]) -> list[str]:
    return ["", title, *_listed(rows)] if rows else []


def _listed(lines: Iterable[str]) -> list[str]:
    """Indent lines, cleaned of control characters and cut to a readable length."""
    return [f"  {shorten(line, 1000)}" for line in lines]


def _plain_row(row: TableRow, metrics: Iterable[str]) -> dict[str, Any]:
    intervals = {metric: row.cells[metric].interval for metric in metrics}
    return {
        "method": row.label,
        "key": row.method.key,
        "n_done": row.n_done,
        "n_runs": row.n_runs,
        "scores": {metric: None if found is None else dict(vars(found)) for metric, found in intervals.items()},
    }


def plain_pair(pair: Pair, sentence: str) -> dict[str, Any]:
    """Return a pair with its verdict as JSON-ready data."""
    return {
        "a": pair.a,
        "b": pair.b,
        "difference": pair.difference,
        "low": pair.low,
        "high": pair.high,
        "p": pair.p,
        "p_alone": pair.p_alone,
        "verdict": pair.verdict,
        "reason": pair.reason,
        "n_a": pair.n_a,
        "n_b": pair.n_b,
        "more_seeds": pair.more_seeds,
        "sentence": sentence,
    }


@dataclass(frozen=True, kw_only=True)
class Chance:
    """One method: its probability of being the best, and what would settle it against the leader."""

    label: str
    probability: float
    is_among_best: bool
    settled_by: str

    @property
    def shown(self) -> str:
        """The probability in per cent; a method that may be best is never shown as impossible or certain."""
        if self.is_among_best and self.probability < 0.005:
            return "below 1 %"
        return "above 99 %" if 0.995 < self.probability < 1 else f"{100 * self.probability:.0f} %"


@dataclass(frozen=True, kw_only=True)
class PairByKind:
    """A pair with the difference and, over seeds, over test classes and over both, its interval and verdict."""

    a: str
    b: str
    difference: str
    shown: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """`sentences` are verdicts on pairs; `n_more` is how many more pairs there are.

    `by_kind` are the same pairs over seeds, over `n_classes` test classes and over both, where that is known.
    """

    sentences: tuple[str, ...]
    n_more: int
    chances: tuple[Chance, ...]
    by_kind: tuple[PairByKind, ...] = ()
    n_classes: int = 0


def confidence_of(found: ComparisonResult, generality: Generality | None = None) -> Confidence | None:
    """Return what the comparison says, and over what it holds where that is known; nothing for one method alone."""
    if not found.pairs:
        return None
    read = found.pairs_to_read()
    kinds = [] if generality is None else [generality.over(kind) for kind in get_args(GeneralityKind)]
    return Confidence(
        sentences=tuple(shorten(found.sentence(pair), 400) for pair in read),
        n_more=len(found.pairs) - len(read),
        chances=_chances(found) if found.has_direction else (),
        by_kind=tuple(_by_kind(found.metric, pair, kinds) for pair in read) if kinds else (),
        n_classes=0 if generality is None else generality.n_classes,
    )


def _by_kind(metric: str, pair: Pair, kinds: Sequence[Comparison]) -> PairByKind:
    """Return one pair over seeds, over classes and over both, its leader first in each."""
    shown = []
    for one in (comparison.pair(pair.a, pair.b) for comparison in kinds):
        if one.low is None or one.high is None:
            shown.append("one run only")
            continue
        ends = sorted((one.low, one.high), reverse=not one.higher_is_better)
        ahead = [end if one.higher_is_better else -end for end in ends]
        ahead = ahead if one.a == pair.a else [-end for end in reversed(ahead)]
        span = ", ".join(show(metric, end) for end in ahead)
        shown.append(f"[{span}] {one.verdict.replace('unsettled', 'not settled')}")
    return PairByKind(a=pair.a, b=pair.b, difference=show(metric, abs(pair.difference)), shown=tuple(shown))


def _chances(found: ComparisonResult) -> tuple[Chance, ...]:
    known = [(method.probability_best, method) for method in found.comparison.methods]
    chances = [
        Chance(
            label=method.name,
            probability=probability,
            is_among_best=method.is_among_best,
            settled_by=_settled_by(found, method),
        )
        for probability, method in known
        if probability is not None
    ]
    return tuple(sorted(chances, key=lambda chance: -chance.probability))


def _settled_by(found: ComparisonResult, method: Estimate) -> str:
    leader = found.comparison.repeated.methods[0].name
    if method.name == leader:
        return f"{found.table.extreme} mean"
    pair = found.comparison.pair(leader, method.name)
    if pair.is_settled:
        return "equivalent" if pair.verdict == "equivalent" else "settled"
    if pair.prospect != "advised":
        return {"follow": "more follow", "limit": "limit reached", "none": "no more"}[pair.prospect]
    return "none within reach" if pair.more_seeds is None else f"about {pair.more_seeds} more"
