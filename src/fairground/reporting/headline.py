"""The question and the headline, one sentence each, saying no more than the comparison found."""

from collections.abc import Sequence
from typing import Literal

from fairground.comparison.generality import Generality
from fairground.comparison.sentences import no_verdict_on
from fairground.reporting.headings import heading, show, show_interval, unit
from fairground.reporting.tables import ResultTable, TableRow
from fairground.spec.measurement_names import is_share

#: which models of a study's folds a table is about; nothing where there is no choice
Models = Literal["separated", "concatenated", ""]
_MODELS: dict[Models, str] = {
    "separated": " (separated models: the mean over the fold models of a repeat)",
    "concatenated": " (concatenated models: the fold models of a repeat joined into one)",
    "": "",
}


def question_of(table: ResultTable, dataset: str, models: Models = "") -> str:
    """Return the question a table answers, and of which models where there is a choice."""
    which = _MODELS[models]
    if len(table.rows) == 1:
        return f"How well does {table.rows[0].label} retrieve classes of {dataset} it has never seen?{which}"
    return f"Which of these {len(table.rows)} methods best retrieves classes of {dataset} it has never seen?{which}"


def headline_of(table: ResultTable, *, unfair: str | None = None, generality: Generality | None = None) -> str:
    """Return who leads by the metric the runs were selected by, and how sure that is, for other test classes too.

    `unfair` says why the runs may not be compared: where there is one, nobody is called better. `generality` is there
    where the runs kept what each test class scored.
    """
    ranked = [row for row in table.rows if row.n_done and table.primary in row.cells]
    ranked = [row for row in ranked if row.cells[table.primary].interval is not None]
    if not ranked:
        return "No run has finished, so there is no result yet."
    where = "" if table.split == "test" else f" on the {table.split} classes, the test classes being still sealed"
    top, *others = ranked
    if not others:
        return f"{top.label} reaches {_score(table, top)}{where}."
    if unfair is not None:
        return f"Nobody can be called better: {unfair.rstrip(':')}. The differences are listed below."
    repeated = [row for row in ranked if row.n_done > 1]
    if len(repeated) < 2:
        return (
            f"{top.label} has the {table.extreme} score, {_score(table, top)}{where}, "
            "but one seed cannot tell a better method from a lucky one: run more seeds."
        )
    top, *others = repeated
    beyond = "" if generality is None else _on_other_classes(table, top, others, generality)
    single = [row.label for row in ranked if row.n_done == 1]
    without = f" {no_verdict_on(single)}" if single else ""
    return f"{top.label} {_standing(table, top, others, where)}.{beyond}{without}"


def _on_other_classes(table: ResultTable, top: TableRow, others: Sequence[TableRow], found: Generality) -> str:
    """Say whether what is settled over seeds is settled over seeds and test classes at once."""
    seeds, both = table.comparisons[table.primary], found.both
    verdicts = {row.label: seeds.pair(top.label, row.label).verdict for row in others}
    settled = [label for label, verdict in verdicts.items() if verdict != "unsettled"]
    if not settled:
        return ""
    at_once = f"by seeds and {found.n_classes} test classes at once"
    lost = [label for label in settled if both.pair(top.label, label).verdict != verdicts[label]]
    if lost:
        return f" That is on these test classes: for others it is not settled against {join_words(lost)}, {at_once}."
    if len(settled) == len(others):
        return f" That holds for other test classes too, {at_once}."
    better = [label for label in settled if verdicts[label] == "better"]
    what = f"That it is better than {join_words(better)}" if better else "What is settled"
    return f" {what} holds for other test classes too, {at_once}."


def _standing(table: ResultTable, top: TableRow, others: Sequence[TableRow], where: str) -> str:
    """Return how the leader stands against the others, by the marks of the table."""
    metric, comparison = table.primary, table.comparisons[table.primary]
    marked = {
        mark: [row.label for row in others if row.cells[metric].mark == mark]
        for mark in ("equivalent", "unsettled", "")
    }
    if table.higher_is_better.get(metric) is None:
        return f"has the {table.extreme} mean, {_score(table, top)}{where}; nobody says which way is better"
    if len(marked[""]) == len(others):
        pair = comparison.pair(top.label, others[0].label)
        ahead = f"{show(metric, abs(pair.difference))}{' points' if is_share(metric) else ''}"
        return (
            f"is best: {_score(table, top)}{where}; it is better than every other method, the next being "
            f"{others[0].label} with {_number(table, others[0])}, {ahead} behind"
        )
    parts = [f"has the {table.extreme} mean, {_score(table, top)}{where}"]
    if equal := marked["equivalent"]:
        within = f"{show(metric, comparison.margin)}{unit(metric)}"
        parts.append(f"{join_words(equal)} {_is(equal)} equivalent to it, within ±{within}")
    if unsettled := marked["unsettled"]:
        parts.append(f"{join_words(unsettled)} {_is(unsettled)} not settled against it")
    return "; ".join(parts)


def _is(labels: Sequence[str]) -> str:
    return "is" if len(labels) == 1 else "are"


def join_words(words: Sequence[str], *, most: int = 3) -> str:
    """Return 'a', 'a and b', 'a, b and c', or 'a, b, c and 4 others'."""
    shown = list(words[:most])
    if len(words) > most:
        rest = len(words) - most
        return f"{', '.join(shown)} and {rest} other{'s' if rest > 1 else ''}"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _score(table: ResultTable, row: TableRow) -> str:
    seeds = f" over {row.n_done} seeds" if row.n_done > 1 else ""
    return f"{heading(table.primary)} {_number(table, row)}{seeds}"


def _number(table: ResultTable, row: TableRow) -> str:
    interval = row.cells[table.primary].interval
    assert interval is not None
    return show_interval(table.primary, interval) + unit(table.primary)
