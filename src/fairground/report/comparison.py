"""Is A better than B, and how sure is that: table, paired verdicts and fairness, for people and programs.

The fairness rules come first. What they find unfair is not shown, or, if somebody insists, shown with every
row and every verdict marked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairground.catalogue import nearest
from fairground.errors import require
from fairground.fairness.compare import FairnessResult, compare
from fairground.fairness.evidence import Evidence
from fairground.fairness.folds import join_folds
from fairground.records.record import RunRecord
from fairground.report.headings import heading, shorten, show, unit
from fairground.report.methods import methods_of
from fairground.report.table_formats import text as table_text
from fairground.report.tables import ResultTable, TableRow, turned
from fairground.spec.space import Range
from fairground.statistics.groups import group_from
from fairground.statistics.pairwise import Verdict, pairwise

#: what every row and verdict of an unfair table begins with
UNFAIR = "[unfair] "
#: every pair of six methods
MOST_TO_READ = 15


@dataclass(frozen=True, kw_only=True)
class ComparisonResult:
    """Whether some methods may be compared, their table, a verdict on each pair, and who is level with the best."""

    fairness: FairnessResult
    table: ResultTable
    verdicts: tuple[Verdict, ...]
    best: tuple[str, ...]
    metric: str

    @classmethod
    def from_records(
        cls,
        records: Iterable[RunRecord],
        *,
        metric: str | None = None,
        ranges: Mapping[str, Range] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> "ComparisonResult":
        """Compare the methods of some runs by `metric`, or by what the runs were selected by; folds are averaged.

        `names` says what to call a method, by its hash once folds are averaged.
        """
        runs = join_folds(records)
        methods = {method.label: method for method in methods_of(runs, names)}
        table = ResultTable.from_records(runs, names=names)
        if metric is not None:
            hint = nearest(metric, table.metrics)
            known = ", ".join(table.metrics)
            require(
                metric in table.metrics, f"no {table.split} score '{metric}' in these runs.{hint} There are {known}."
            )
            table = ResultTable.from_records(runs, metrics=(metric,), names=names)
        metric = table.primary
        evidence = Evidence(methods={key: m.records for key, m in methods.items()}, metric=metric, split=table.split)
        values = {label: found for label in methods if (found := evidence.values(label))}
        require(len(values) > 0, "no run has finished, so there is nothing to compare")
        higher_is_better = table.higher_is_better[metric]
        values = turned(values, higher_is_better)
        verdicts = pairwise(values)
        # Where nobody says which way is better, nobody is called better.
        claims = [(v.a, v.b) for v in verdicts if v.is_separated] if higher_is_better is not None else []
        fairness = compare(evidence.methods, metric=metric, split=table.split, claims=claims, ranges=ranges)
        if not fairness.is_fair:
            marked = {method.key: UNFAIR + label for label, method in methods.items()}
            table = ResultTable.from_records(runs, metrics=table.metrics, names=marked)
        best = group_from(values, verdicts).members if higher_is_better is not None else ()
        return cls(fairness=fairness, table=table, verdicts=tuple(verdicts), best=best, metric=metric)

    @property
    def is_fair(self) -> bool:
        """Tell whether the methods may share a table."""
        return self.fairness.is_fair

    def refusal(self) -> str:
        """Return every difference with why it matters."""
        return "\n".join([self.fairness.refusal(), *_listed(_differences(self.fairness))])

    def text(self, *, hints: Sequence[str] = ()) -> str:
        """Return table, verdicts, flags and hints for a terminal."""
        mark = "" if self.is_fair else UNFAIR
        lines = [table_text(self.table)]
        if self.verdicts:
            lines.append(f"By {heading(self.metric)}, paired on shared seeds, corrected over all pairs (Holm):")
        shown = self.verdicts_to_read()
        lines += _listed(mark + self.sentence(verdict) for verdict in shown)
        if len(shown) < len(self.verdicts):
            lines += _listed([f"and {len(self.verdicts) - len(shown)} pairs without the first method: --json has all"])
        if len(self.best) > 1:
            lines += _listed([f"{mark}indistinguishable from the best: {', '.join(self.best)}"])
        for title, rows in (
            ("Unfair, and shown anyway:", _differences(self.fairness)),
            ("To be borne in mind:", [f"{flag.flag}: {flag}" for flag in self.fairness.flags]),
            ("Hints:", hints),
        ):
            lines += ["", title, *_listed(rows)] if rows else []
        return "\n".join(lines) + "\n"

    def verdicts_to_read(self) -> list[Verdict]:
        """Return all verdicts while they are few, otherwise those on the method with the best mean."""
        if len(self.verdicts) <= MOST_TO_READ:
            return list(self.verdicts)
        first = self.verdicts[0].a
        return [verdict for verdict in self.verdicts if first in (verdict.a, verdict.b)]

    @property
    def has_direction(self) -> bool:
        """Tell whether anybody says which way the metric is better."""
        return self.table.higher_is_better[self.metric] is not None

    def sentence(self, verdict: Verdict) -> str:
        """Return a verdict in words."""
        return sentence(verdict, self.metric, word="better" if self.has_direction else "higher")

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
            "verdicts": [_plain_verdict(verdict) for verdict in self.verdicts] if is_shown else [],
            "best": list(self.best) if is_shown else [],
        }


def sentence(verdict: Verdict, metric: str, *, word: str = "better") -> str:
    """Return a verdict in words: better, or not separated and how many more seeds would settle it."""
    a, b, test = shorten(verdict.a, 60), shorten(verdict.b, 60), verdict.test
    if test is None:
        return f"{a} and {b}: not separated; a verdict needs at least two runs of each"
    span = "" if test.low is None or test.high is None else f" [{show(metric, test.low)}, {show(metric, test.high)}]"
    by = f"{show(metric, test.mean)}{span}{unit(metric)}, p {verdict.adjusted_p:.2g}, {test.n} seeds"
    if verdict.is_separated:
        return f"{a} is {word} than {b} by {by}"
    return f"{a} and {b}: not separated, difference {by}; {_what_would_settle(verdict)}"


def _what_would_settle(verdict: Verdict) -> str:
    if len(verdict.differences) < 2:
        return "run both on the same seeds"
    more = verdict.more_seeds
    if more is None:
        return "no number of seeds within reach would settle it"
    return f"about {more} more seed{'s' if more != 1 else ''} would settle it, if the difference stays as seen"


def _differences(fairness: FairnessResult) -> list[str]:
    return [f"{difference.rule}: {difference}" for difference in fairness.differences]


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


def _plain_verdict(verdict: Verdict) -> dict[str, Any]:
    test = verdict.test
    return {
        "a": verdict.a,
        "b": verdict.b,
        "is_separated": verdict.is_separated,
        "adjusted_p": verdict.adjusted_p,
        "difference": None if test is None else test.mean,
        "low": None if test is None else test.low,
        "high": None if test is None else test.high,
        "n": 0 if test is None else test.n,
        "test": None if test is None else test.kind,
        "cliffs_delta": verdict.delta,
        "more_seeds": verdict.more_seeds,
    }
