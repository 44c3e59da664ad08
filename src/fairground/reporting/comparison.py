"""Methods compared: table, verdicts and fairness, as text and JSON.

The fairness rules come first. An unfair comparison is not shown, or, on request, shown with every row and verdict
marked. The model is fitted once, when the result is built; pages, tables and figures read this one object.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

from fairground.comparison.comparison_result import LEVEL, Comparison, GeneralityKind, Pair, sentence_of
from fairground.comparison.fairness_flags import FairnessResult, check_fairness
from fairground.comparison.generality import Generality
from fairground.comparison.run_scores import join_folds
from fairground.errors import require
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder
from fairground.reporting import table_formats
from fairground.reporting.headings import heading, shorten, show, unit
from fairground.reporting.methods import ClassScores
from fairground.reporting.tables import UNFAIR, ResultTable

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
        level: float = LEVEL,
        margin: float | None = None,
        over: GeneralityKind = "seeds",
        folders: Mapping[str, RunFolder] | None = None,
    ) -> "ComparisonResult":
        """Compare the methods of some runs by `metric`, by default the metric of selection; folds are averaged.

        `margin` is in the unit shown. `over` is what verdicts hold over; other than seeds it needs the `folders` of the
        runs. The table has one column for a given metric.
        """
        kept = tuple(records)
        classes = ClassScores(records=kept, folders=folders or {})
        return cls.from_table(
            ResultTable.from_records(
                join_folds(kept),
                primary=metric,
                has_all_metrics=metric is None,
                level=level,
                margin=margin,
                over=over,
                classes=classes,
            )
        )

    @classmethod
    def from_table(cls, table: ResultTable) -> "ComparisonResult":
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
        shown = self.pairs_to_read()
        # Pairs that only lack a second run share one sentence.
        lacking = [pair for pair in shown if pair.low is None and pair.prospect == "advised"]
        lacking = lacking if len(lacking) > 1 else []
        verdicts = [self.sentence(pair) for pair in shown if pair not in lacking]
        if lacking:
            verdicts.append(f"no verdict on {len(lacking)} pairs: a verdict needs at least two runs of each method")
        lines = [self.how_to_read()] if self.pairs else []
        lines += _listed(("" if self.is_fair else UNFAIR) + verdict for verdict in verdicts)
        if len(shown) < len(self.pairs):
            lines += _listed([f"and {len(self.pairs) - len(shown)} pairs without the first method: --json has all"])
        lines += [*self.reservations(), *_titled("Hints:", hints)]
        further = "".join(f"{line}\n" for line in lines)
        return f"{table_formats.text(self.table, width=width)}\n{table_formats.folded(further, width)}"

    def reservations(self) -> list[str]:
        """Return what is unfair and the caveats, as lines."""
        flags = [f"{flag.flag}: {flag}" for flag in self.fairness.flags]
        return [
            *_titled("Unfair, and shown anyway:", _differences(self.fairness)),
            *_titled("Caveats:", flags),
        ]

    def how_to_read(self) -> str:
        """Return the metric of the comparison and what its intervals guarantee."""
        found, n_pairs = self.comparison, len(self.pairs)
        if not self.has_intervals:
            return f"By {heading(self.metric)}; single runs have no interval:"
        margin = f"{show(self.metric, found.margin)}{unit(self.metric)}"
        at_once = f"intervals of all {n_pairs} pairs hold at once" if n_pairs > 1 else "the interval holds"
        kinds = {"classes": " for other test classes", "both": " for other seeds and test classes at once"}
        over = kinds.get(self.pairs[0].over, "") if self.pairs else ""
        looks = "" if self.table.waves is None else " over all looks"
        held = f"{at_once}{looks} at {100 * found.level:g} %{over}"
        return f"By {heading(self.metric)}, {held}; equivalent is within ±{margin}:"

    @property
    def has_intervals(self) -> bool:
        """Tell whether any pair has an interval, so that there can be verdicts."""
        return any(pair.low is not None for pair in self.pairs)

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
        rows, level = [], self.comparison.level
        for row in self.table.rows if is_shown else ():
            found = {metric: cell.interval for metric, cell in row.cells.items()}
            scores = {
                metric: span
                and {
                    **{key: getattr(span, key) for key in ("mean", "low", "high", "n")},
                    "level": level,
                    "kind": "model",
                }
                for metric, span in found.items()
            }
            counts = {"n_done": row.n_done, "n_runs": row.n_runs}
            rows.append({"method": row.label, "key": row.method.key, **counts, "scores": scores})
        return {
            "is_fair": self.is_fair,
            "metric": self.metric,
            "higher_is_better": self.table.higher_is_better[self.metric],
            "split": self.table.split,
            "differences": [dict(vars(difference)) for difference in self.fairness.differences],
            "flags": [dict(vars(flag)) for flag in self.fairness.flags],
            "rows": rows,
            "level": level,
            "margin": self.comparison.margin,
            "pairs": [plain_pair(pair, self.sentence(pair)) for pair in self.pairs] if is_shown else [],
            "best": list(self.best) if is_shown else [],
        }


def plain_pair(pair: Pair, sentence: str) -> dict[str, Any]:
    """Return a pair with its verdict as JSON-ready data."""
    numbers = ("difference", "low", "high", "p", "p_alone", "verdict", "reason", "n_a", "n_b", "more_seeds")
    return {**{key: getattr(pair, key) for key in ("a", "b", *numbers)}, "sentence": sentence}


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


class Chance(NamedTuple):
    """One method: its probability of being the best, and what would settle it against the leader."""

    label: str
    probability: float
    shown: str
    is_among_best: bool
    settled_by: str


class Confidence(NamedTuple):
    """`sentences` are verdicts on pairs; `n_more` is how many more pairs there are.

    `by_kind` are the same pairs (names, difference, cells) over seeds, over `n_classes` test classes and over both.
    """

    sentences: list[str]
    n_more: int
    chances: list[Chance]
    by_kind: list[tuple[str, str, str, list[str]]]
    n_classes: int


def confidence_of(found: ComparisonResult, generality: Generality | None = None) -> Confidence | None:
    """Return what the comparison says, and over what it holds where that is known; nothing for one method alone."""
    if not found.pairs:
        return None
    read = found.pairs_to_read()
    by_kind = []
    for pair in read if generality is not None else ():
        assert generality is not None
        kinds = [generality.over(kind).pair(pair.a, pair.b) for kind in get_args(GeneralityKind)]
        cells = [_shown_interval(found.metric, one, leader=pair.a) for one in kinds]
        by_kind.append((pair.a, pair.b, show(found.metric, abs(pair.difference)), cells))
    return Confidence(
        sentences=[shorten(found.sentence(pair), 400) for pair in read],
        n_more=len(found.pairs) - len(read),
        chances=_chances(found) if found.has_direction else [],
        by_kind=by_kind,
        n_classes=0 if generality is None else generality.n_classes,
    )


def _shown_interval(metric: str, pair: Pair, *, leader: str) -> str:
    """Return the interval by which the leader is ahead, and the verdict."""
    if pair.low is None or pair.high is None:
        return "one run only"
    ends = sorted((pair.low, pair.high), reverse=not pair.higher_is_better)
    ahead = [end if pair.higher_is_better else -end for end in ends]
    ahead = ahead if pair.a == leader else [-end for end in reversed(ahead)]
    return f"[{', '.join(show(metric, end) for end in ahead)}] {pair.verdict.replace('unsettled', 'not settled')}"


def _chances(found: ComparisonResult) -> list[Chance]:
    chances = []
    for method in found.comparison.methods:
        chance = method.probability_best
        if chance is None:
            continue
        # A method that may be best is never shown as impossible or certain.
        shown = "above 99 %" if 0.995 < chance < 1 else f"{100 * chance:.0f} %"
        shown = "below 1 %" if method.is_among_best and chance < 0.005 else shown
        chances.append(Chance(method.name, chance, shown, method.is_among_best, _settled_by(found, method.name)))
    return sorted(chances, key=lambda chance: -chance.probability)


def _settled_by(found: ComparisonResult, name: str) -> str:
    leader = found.comparison.repeated.methods[0].name
    if name == leader:
        return f"{found.table.extreme} mean"
    pair = found.comparison.pair(leader, name)
    if pair.is_settled:
        return "equivalent" if pair.verdict == "equivalent" else "settled"
    if pair.prospect != "advised":
        return {"follow": "more follow", "limit": "limit reached", "none": "no more"}[pair.prospect]
    return "none within reach" if pair.more_seeds is None else f"about {pair.more_seeds} more"
