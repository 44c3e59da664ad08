"""What a reader must know before believing a table: what went wrong, what is missing, what is not the same."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from fairground.comparison.fairness_flags import is_any_other
from fairground.records.record import Finding, RunRecord
from fairground.reporting.headings import clean
from fairground.reporting.headline import join_words
from fairground.reporting.tables import ResultTable


@dataclass(frozen=True, kw_only=True)
class Note:
    """One sentence; a warning touches what may be concluded."""

    text: str
    is_warning: bool


def notes_of(table: ResultTable) -> list[Note]:
    """Return warnings first, then what the runs themselves noted."""
    records = [record for row in table.rows for record in row.method.records]
    warnings = [
        *_too_few(table),
        *_unfinished(table),
        *_found_ill(table),
        *_not_the_same(records),
        *_one_run_twice(records),
    ]
    found = [Note(text=text, is_warning=True) for text in warnings]
    said: Counter[str] = Counter()
    for text, count in Counter(text for record in records for text in record.notes).items():
        said[clean(text)] += count
    for text, count in said.items():
        where = "" if count == len(records) else f" ({count} of {len(records)} runs)"
        found.append(Note(text=text + where, is_warning=False))
    return found


def _too_few(table: ResultTable) -> list[str]:
    single = [row.label for row in table.rows if row.n_done == 1]
    counts = {row.n_done for row in table.rows if row.n_done}
    found = []
    if single:
        found.append(
            f"One run only: {join_words(single)}. Without repeats there is no interval, no mark and no verdict."
        )
    elif len(counts) > 1 and table.waves is None:
        found.append(f"The methods have {min(counts)} to {max(counts)} finished runs each; an equal number is fairer.")
    return found


def _unfinished(table: ResultTable) -> list[str]:
    found = []
    for row in table.rows:
        for record in row.method.records:
            if record.state != "done":
                why = clean(record.failure or "")
                found.append(f"{row.label}, seed {record.spec.get('seed')}: {record.state}. {why}")
    return found


def _found_ill(table: ResultTable) -> list[str]:
    """Say of each method and sign in how many of its runs the doctor saw it, and what of the first."""
    found = []
    for row in table.rows:
        by_sign: dict[str, list[Finding]] = {}
        for record in row.method.records:
            for finding in record.findings:
                by_sign.setdefault(finding.sign, []).append(finding)
        for sign, seen in by_sign.items():
            first = seen[0]
            count = f"{len(seen)} of {len(row.method.records)} runs"
            word = sign.replace("_", " ")
            found.append(f"{row.label}: {word} in {count}. {clean(first.sentence)}. Try: {clean(first.remedy)}.")
    return found


def _not_the_same(records: Sequence[RunRecord]) -> list[str]:
    fields = {
        "the images of the data set (fingerprint)": "data_fingerprint",
        "the split into training, validation and test (fingerprint)": "split_fingerprint",
        "the version of fairground": "fairground",
        "the versions of the packages": "packages",
        "the machine": "hardware",
        "the number of threads": "threads",
    }
    done = [record.provenance for record in records if record.state == "done"]
    if not is_any_other(map(attrgetter(*fields.values()), done)):  # one look at each of many runs
        return []
    differing = [name for name, field in fields.items() if is_any_other(map(attrgetter(field), done))]
    return [f"Not the same in all runs: {join_words(differing, most=9)}."] if differing else []


def _one_run_twice(records: Sequence[RunRecord]) -> list[str]:
    counts = Counter(record.name for record in records)
    twice = sorted(name for name, count in counts.items() if count > 1)
    return [f"Counted more than once: run {join_words(twice)}."] if twice else []
