"""What a page says in sentences: question, headline, notes; no more than the comparison of a `ResultTable` found."""

from collections import Counter
from typing import Literal, NamedTuple

from fairground.comparison import Generality, join_words, no_verdict_on
from fairground.records import RunRecord, grouped
from fairground.reporting import Method, ResultTable, clean, heading, show, show_interval, unit
from fairground.spec.metric_names import is_share

#: which models of a study's folds a table is about; empty where there is no choice
Models = Literal["separated", "concatenated", ""]
_MODELS: dict[Models, str] = {
    "separated": " (separated models: the mean over the fold models of a repeat)",
    "concatenated": " (concatenated models: the fold models of a repeat joined into one)",
    "": "",
}


class Note(NamedTuple):
    """One sentence; a warning touches what may be concluded."""

    text: str
    is_warning: bool


def question_of(table: ResultTable, dataset: str, models: Models = "") -> str:
    """Return what the table is asked; a study has its own question, so that only the data set is left to say."""
    which, rows = _MODELS[models], table.rows or table.imported
    if table.study is not None:
        return f"{dataset}{which}"
    if len(rows) == 1:
        return f"How well does {rows[0].label} retrieve unseen classes of {dataset}?{which}"
    return f"Which of these {len(rows)} methods best retrieves unseen classes of {dataset}?{which}"


def headline_of(table: ResultTable, generality: Generality | None = None) -> str:
    """Return who leads by the primary metric and how sure that is, over test classes too where scores are per class."""
    ranked = [row for row in table.rows if table.primary and row.cells[table.primary].interval is not None]
    if not ranked and table.imported:
        return "All results are imported, so no method can be called better."
    if not ranked:
        return "No run has finished, so there is no result yet."
    where = "" if table.split == "test" else f" on the {table.split} classes (the test classes are still sealed)"
    top, *others = ranked
    if not others:
        return f"{top.label} reaches {_score(table, top)}{where}."
    if not table.is_fair:
        why = table.fairness.refusal().rstrip(":")
        return f"No method can be called better: {why}. The differences are listed below."
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


def _on_other_classes(table: ResultTable, top: Method, others: list[Method], found: Generality) -> str:
    """Return whether what is settled over seeds is settled over seeds and test classes at once."""
    seeds, both = table.comparisons[table.primary], found.both
    verdicts = {row.label: seeds.pair(top.label, row.label).verdict for row in others}
    settled = [label for label, verdict in verdicts.items() if verdict != "unsettled"]
    if not settled:
        return ""
    at_once = f"by seeds and {found.n_classes} test classes at once"
    lost = [label for label in settled if both.pair(top.label, label).verdict != verdicts[label]]
    if lost:
        return f" That is on these test classes: for others it is not settled against {join_names(lost)}, {at_once}."
    if len(settled) == len(others):
        return f" That holds for other test classes too, {at_once}."
    better = [label for label in settled if verdicts[label] == "better"]
    what = f"That it is better than {join_names(better)}" if better else "What is settled"
    return f" {what} holds for other test classes too, {at_once}."


def _standing(table: ResultTable, top: Method, others: list[Method], where: str) -> str:
    """Return how the leader stands against the others, by the marks of the table."""
    metric, comparison = table.primary, table.comparisons[table.primary]
    if table.higher_is_better.get(metric) is None:
        return f"has the {table.extreme} mean, {_score(table, top)}{where}; the metric does not declare a direction"
    equal = [row.label for row in others if row.cells[metric].mark == "equivalent"]
    unsettled = [row.label for row in others if row.cells[metric].mark == "unsettled"]
    if not equal and not unsettled:
        pair = comparison.pair(top.label, others[0].label)
        ahead = f"{show(metric, abs(pair.difference))}{' points' if is_share(metric) else ''}"
        return (
            f"is best: {_score(table, top)}{where}; it is better than every other method, the next being "
            f"{others[0].label} with {_number(table, others[0])}, {ahead} behind"
        )
    parts = [f"has the {table.extreme} mean, {_score(table, top)}{where}"]
    if equal:
        within = f"{show(metric, comparison.margin)}{unit(metric)}"
        parts.append(f"{join_names(equal)} {'is' if len(equal) == 1 else 'are'} equivalent to it, within ±{within}")
    if unsettled:
        verb = "is" if len(unsettled) == 1 else "are"
        parts.append(f"{join_names(unsettled)} {verb} not significantly different from it")
    return "; ".join(parts)


def join_names(names: list[str], *, most: int = 3) -> str:
    """Return 'a', 'a and b', 'a, b and c', or 'a, b, c and 4 others'."""
    rest = len(names) - most
    others = f" and {rest} other{'s' if rest > 1 else ''}"
    return f"{', '.join(names[:most])}{others}" if rest > 0 else join_words(names)


def _score(table: ResultTable, row: Method) -> str:
    seeds = f" over {row.n_done} seeds" if row.n_done > 1 else ""
    return f"{heading(table.primary)} {_number(table, row)}{seeds}"


def _number(table: ResultTable, row: Method) -> str:
    interval = row.cells[table.primary].interval
    assert interval is not None
    return show_interval(table.primary, interval) + unit(table.primary)


def chance_text(chance: float, *, is_among_best: bool) -> str:
    """Return a method's chance of being the best; one that may be best is never shown as impossible or certain."""
    shown = "above 99 %" if 0.995 < chance < 1 else f"{100 * chance:.0f} %"
    return "below 1 %" if is_among_best and chance < 0.005 else shown


def notes_of(table: ResultTable) -> list[Note]:
    """Return what happened in the runs of a table, besides what its fairness says: warnings first, then their notes."""
    records = [record for row in table.rows for record in row.records]
    warnings = [
        f"{row.label}, seed {record.spec.get('seed')}: {record.state}. {clean(record.failure or '')}"
        for row in table.rows
        for record in row.records
        if record.state != "done"
    ]
    warnings += _doctor_findings(table)
    twice = sorted(name for name, count in Counter(record.name for record in records).items() if count > 1)
    if twice:
        warnings.append(f"Counted more than once: run {join_names(twice)}.")
    found = [Note(text, is_warning=True) for text in warnings]
    texts = [text for record in records for text in record.notes if text not in _told_elsewhere(record)]
    texts += [record.search.told("each method's ranges") for record in records if record.search is not None]
    for text, count in Counter(map(clean, texts)).items():
        where = "" if count == len(records) else f" ({count} of {len(records)} runs)"
        found.append(Note(text + where, is_warning=False))
    return found


def _told_elsewhere(record: RunRecord) -> list[str]:
    """Return the notes of a run that the page has in one sentence for many runs: its search, and known bugs."""
    bugs = [text for text in record.notes if any(bug.sentence in text for bug in record.known_bugs)]
    return bugs if record.search is None else [*bugs, record.search.sentence]


def _doctor_findings(table: ResultTable) -> list[str]:
    """Return for each method and sign in how many runs the doctor found it, with the first finding."""
    found = []
    for row in table.rows:
        findings = (finding for record in row.records for finding in record.findings)
        for sign, seen in grouped((finding.sign, finding) for finding in findings).items():
            first, count = seen[0], f"{len(seen)} of {len(row.records)} runs"
            what = f"{row.label}: {sign.replace('_', ' ')} in {count}."
            found.append(f"{what} {clean(first.sentence)}. Try: {clean(first.remedy)}.")
    return found
