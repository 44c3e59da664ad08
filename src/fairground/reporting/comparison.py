"""Is A better than B, and how sure is that: table, verdicts and fairness, for people and programs.

The fairness rules come first. What they find unfair is not shown, or, if somebody insists, shown with every
row and every verdict marked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fairground.comparison.comparison_result import Comparison, GeneralityKind, Pair
from fairground.comparison.fairness import FairnessResult, compare
from fairground.comparison.fairness_rules import Evidence
from fairground.comparison.intervals import LEVEL
from fairground.comparison.run_scores import join_folds
from fairground.comparison.sentences import sentence_of
from fairground.errors import require
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder
from fairground.reporting.class_scores import ClassScores
from fairground.reporting.headings import heading, shorten, show, unit
from fairground.reporting.methods import methods_of
from fairground.reporting.table_formats import folded
from fairground.reporting.table_formats import text as table_text
from fairground.reporting.tables import ResultTable, TableRow, refuse_unknown_metric
from fairground.spec.space import Range

#: what every row and verdict of an unfair table begins with
UNFAIR = "[unfair] "
#: every pair of six methods
MOST_TO_READ = 15


@dataclass(frozen=True, kw_only=True)
class ComparisonResult:
    """Whether some methods may be compared, their table, and by `metric` the comparison of them."""

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
    ) -> "ComparisonResult":
        """Compare the methods of some runs by `metric`, or by what the runs were selected by; folds are averaged.

        `names` says what to call a method, by its hash once folds are averaged. `margin` is in the unit shown.
        `over` says over what verdicts hold; other than seeds it needs the `folders` of the runs.
        """
        kept = tuple(records)
        classes = ClassScores(records=kept, folders=folders or {})
        runs = join_folds(kept)
        found = methods_of(runs, names)
        methods = {method.label: method for method in found}
        if metric is not None:
            refuse_unknown_metric(found, metric)
        table_of = partial(ResultTable.from_records, runs, level=level, margin=margin, over=over, classes=classes)
        table = table_of(metrics=None if metric is None else (metric,), names=names)
        metric = table.primary
        evidence = Evidence(methods={key: m.records for key, m in methods.items()}, metric=metric, split=table.split)
        comparison = table.comparisons.get(metric)
        require(comparison is not None, "no run has finished, so there is nothing to compare")
        assert comparison is not None
        # Where nobody says which way is better, nobody is called better.
        has_direction = table.higher_is_better[metric] is not None
        claims = [(pair.a, pair.b) for pair in comparison.pairs if pair.verdict == "better" and has_direction]
        fairness = compare(
            evidence.methods, metric=metric, split=table.split, claims=claims, ranges=ranges, comparison=comparison
        )
        if not fairness.is_fair:
            marked = {method.key: UNFAIR + label for label, method in methods.items()}
            table = table_of(metrics=table.metrics, names=marked).without_marks()
        return cls(fairness=fairness, table=table, comparison=comparison, metric=metric)

    @property
    def pairs(self) -> Sequence[Pair]:
        """Every two methods, the leading one first."""
        return self.comparison.pairs

    @property
    def best(self) -> tuple[str, ...]:
        """Every method that no other is better than; nobody where nobody says which way is better."""
        return self.comparison.best if self.has_direction else ()

    @property
    def is_fair(self) -> bool:
        """Tell whether the methods may share a table."""
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
        lines += _listed(mark + said for said in self._verdicts(shown))
        if len(shown) < len(self.pairs):
            lines += _listed([f"and {len(self.pairs) - len(shown)} pairs without the first method: --json has all"])
        lines += [*self.reservations(), *_titled("Hints:", hints)]
        further = "".join(f"{line}\n" for line in lines)
        return f"{table_text(self.table, width=width)}\n{folded(further, width)}"

    def reservations(self) -> list[str]:
        """Return as lines what is unfair and what is to be borne in mind."""
        flags = [f"{flag.flag}: {flag}" for flag in self.fairness.flags]
        return [
            *_titled("Unfair, and shown anyway:", _differences(self.fairness)),
            *_titled("To be borne in mind:", flags),
        ]

    def _verdicts(self, pairs: Sequence[Pair]) -> list[str]:
        """Return a sentence for each pair; those that only lack a second run share one."""
        lacking = [pair for pair in pairs if pair.low is None and pair.prospect == "advised"]
        if len(lacking) < 2:
            return [self.sentence(pair) for pair in pairs]
        said = [self.sentence(pair) for pair in pairs if pair not in lacking]
        return [*said, f"no verdict on {len(lacking)} pairs: a verdict needs at least two runs of each method"]

    def how_to_read(self) -> str:
        """Return by what the methods are compared and what a verdict promises."""
        found, n_pairs = self.comparison, len(self.pairs)
        if not self.has_intervals:
            return f"By {heading(self.metric)}, of which one run of a method has no interval:"
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
        """Return what a verdict holds for beyond these runs, where that is not other seeds alone."""
        words = {"classes": " for other test classes", "both": " for other seeds and test classes at once"}
        return words.get(self.pairs[0].over, "") if self.pairs else ""

    def pairs_to_read(self) -> list[Pair]:
        """Return all pairs while they are few, otherwise those of the method with the best mean."""
        if len(self.pairs) <= MOST_TO_READ:
            return list(self.pairs)
        leader = (self.comparison.repeated.methods or self.comparison.methods)[0].name
        return [pair for pair in self.pairs if leader in (pair.a, pair.b)]

    @property
    def has_direction(self) -> bool:
        """Tell whether anybody says which way the metric is better."""
        return self.table.higher_is_better[self.metric] is not None

    def sentence(self, pair: Pair) -> str:
        """Return a verdict in words."""
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
    """Return a verdict in words, numbers as the metric is shown."""
    short = replace(pair, a=shorten(pair.a, 60), b=shorten(pair.b, 60))
    better = "" if has_direction else "higher"
    return sentence_of(short, show=lambda value: show(metric, value), unit=unit(metric), better=better)


def _differences(fairness: FairnessResult) -> list[str]:
    return [f"{difference.rule}: {difference}" for difference in fairness.differences]


def _titled(title: str, rows: Sequence[str]) -> list[str]:
    return ["", title, *_listed(rows)] if rows else []


def _listed(lines: Iterable[str]) -> list[str]:
    """Indent lines, cleaned of what could act on a terminal and cut where nobody would read on."""
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


def plain_pair(pair: Pair, words: str) -> dict[str, Any]:
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
        "sentence": words,
    }
