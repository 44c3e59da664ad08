"""What a record tells beyond its spec: how much was searched, what selected, how clusters were seeded.

A study says these things in its records' notes, or under `search` in the spec:
    "search: 50 trials"            how many settings were tried before this one
    "selected on validation"       which split chose settings and checkpoint
    "clustered with 5 seeds"       how often k-means was run for a clustering metric
    "closed set: ..."              training classes occur in the test split
    "known bug switched on: ..."   a bug of published code is reproduced
    "pretrained weights: ..."      the checksum of the weights the network began with
"""

import re
from collections.abc import Mapping

from fairground.records.record import RunRecord

_TRIALS = re.compile(r"search: (\d+) trials?\b")
_SELECTED = re.compile(r"selected on (?:the )?(train|validation|test)\b")
_CLUSTERED = re.compile(r"clustered with (\d+) seeds?\b")


def trials_of(record: RunRecord) -> int | None:
    """Return how many settings were tried before this one was chosen, or None when nothing is said."""
    search = record.spec.get("search")
    trials = search.get("trials") if isinstance(search, Mapping) else None
    return trials if isinstance(trials, int) else _number(_TRIALS, record)


def is_trial(record: RunRecord) -> bool:
    """Tell whether a run belongs to a search: its test split stays sealed for good."""
    evaluation = record.spec.get("evaluation")
    return isinstance(evaluation, Mapping) and evaluation.get("test") is False


def selected_on(record: RunRecord) -> str | None:
    """Return the split that chose: what the record says, else validation if it was looked at, else None."""
    evaluation = record.spec.get("evaluation")
    if isinstance(evaluation, Mapping) and isinstance(evaluation.get("select_on"), str):
        return str(evaluation["select_on"])
    looked = "validation" if any(row.validation for row in record.epochs) else None
    return next((found[1] for note in record.notes if (found := _SELECTED.match(note))), looked)


def clustering_seeds_of(record: RunRecord) -> int:
    """Return how often clusters were seeded anew; once unless the record says otherwise."""
    return _number(_CLUSTERED, record) or 1


def weights_of(record: RunRecord) -> str | None:
    """Return the checksum of the weights the network began with, or None when it began at random."""
    prefix = "pretrained weights:"
    return next((note.removeprefix(prefix).strip() for note in record.notes if note.startswith(prefix)), None)


def bugs_of(record: RunRecord) -> list[str]:
    """Return the known bugs that were switched on."""
    prefix = "known bug switched on:"
    return [note.removeprefix(prefix).strip() for note in record.notes if note.startswith(prefix)]


def _number(pattern: re.Pattern[str], record: RunRecord) -> int | None:
    return next((int(found[1]) for note in record.notes if (found := pattern.match(note))), None)
