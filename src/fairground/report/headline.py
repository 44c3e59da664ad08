"""The question and the headline, one sentence each, saying no more than the paired tests allow."""

from collections.abc import Sequence
from typing import Literal

from fairground.report.headings import heading, show_interval, unit
from fairground.report.tables import ResultTable, TableRow

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


def headline_of(table: ResultTable, *, unfair: str | None = None) -> str:
    """Return who leads by the metric the runs were selected by, and how sure that is.

    `unfair` says why the runs may not be compared: where there is one, nobody is called better.
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
    if any(row.n_done == 1 for row in ranked):
        return (
            f"{top.label} has the {table.extreme} score, {_score(table, top)}{where}, "
            "but one seed cannot tell a better method from a lucky one: run more seeds."
        )
    mark = top.cells[table.primary].mark
    if mark == "best":
        return (
            f"{top.label} is best: {_score(table, top)}{where}; paired tests on shared seeds, corrected over all "
            f"pairs, separate it from every other method, the next being {others[0].label} with "
            f"{_number(table, others[0])}."
        )
    level = [row.label for row in others if row.cells[table.primary].mark == mark != ""]
    return (
        f"{top.label} has the {table.extreme} mean, {_score(table, top)}{where}, but is not separated from "
        f"{join_words(level)}: paired tests on shared seeds do not tell them apart."
    )


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
