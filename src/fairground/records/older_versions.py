"""Records of older versions brought to the fields of version 4.

Version 3 lacks `seed_procedure` alone.

Before version 3 a record said some things in its notes alone, each in one fixed form. They are read back here when such
a record is opened, and nowhere else: records are kept for years, and what they say must stay comparable. The notes
themselves stay for people.

    "search: 50 trials"                  settings were searched; also `search.trials` of the spec
    "selected on the test split: ..."    what chose; the spec's `evaluation.select_on` goes before it, and validation
                                         scores come after it
    "clustered with 5 seeds"             how often k-means was started
    "closed set: ..."                    test classes were trained on; so do all splits named closed_set
    "known bug switched on: ..."         a bug of published code is reproduced
    "pretrained weights: ..."            the checksum of the weights the network began with
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairground.spec.measurement_names import declared_metric
from fairground.spec.procedures import SearchProcedure

_TRIALS = re.compile(r"search: (\d+) trials?\b")
_SELECTED = re.compile(r"selected on (?:the )?(train|validation|test)\b")
_CLUSTERED = re.compile(r"clustered with (\d+) seeds?\b")
_BUG = re.compile(r"known bug switched on: *(.*)", re.DOTALL)
_WEIGHTS = re.compile(r"pretrained weights: *(.*)", re.DOTALL)
_CLOSED = re.compile(r"closed set\b")


def upgraded(data: Mapping[str, Any], *, version: int) -> dict[str, Any]:
    """Return the plain data of an older record as `version` has it."""
    data = {**data, "seed_procedure": None}
    if data["version"] == 3:
        return {**data, "version": version}
    notes, spec = tuple(data["notes"]), data["spec"]
    trials, weights = _trials(notes, spec), _first(_WEIGHTS, notes)
    seeds = _first(_CLUSTERED, notes)
    return {
        **data,
        "version": version,
        "findings": data.get("findings", ()),
        "scores": [{**score, "higher_is_better": _direction(score["metric"])} for score in data["scores"]],
        "selection": _selection(notes, spec, data["epochs"]),
        "search": None if trials is None else SearchProcedure(trials=trials).to_plain(),
        "clustering_seeds": 1 if seeds is None else int(seeds),
        "is_closed_set": _first(_CLOSED, notes) is not None
        or str(_part(spec, "split").get("name")).startswith("closed_set"),
        "known_bugs": [{"component": "", "sentence": bug} for bug in _all(_BUG, notes)],
        "weights": None if weights is None else {"name": str(_part(spec, "trunk").get("weights", "")), "hash": weights},
    }


def _direction(metric: str) -> bool | None:
    declared = declared_metric(metric)
    return None if declared is None else declared.higher_is_better


def _trials(notes: Sequence[str], spec: Mapping[str, Any]) -> int | None:
    said = _part(spec, "search").get("trials")
    noted = _first(_TRIALS, notes)
    return said if isinstance(said, int) else None if noted is None else int(noted)


def _selection(notes: Sequence[str], spec: Mapping[str, Any], epochs: Sequence[Mapping[str, Any]]) -> dict | None:
    evaluation = _part(spec, "evaluation")
    looked = "validation" if any(row.get("validation") for row in epochs) else None
    split = evaluation.get("select_on") or _first(_SELECTED, notes) or looked
    if split is None:
        return None
    is_each = evaluation.get("report") == "best_of_each"
    return {"split": split, "metric": str(evaluation.get("select_by", "")), "is_best_of_each": is_each}


def _part(spec: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = spec.get(key)
    return part if isinstance(part, Mapping) else {}


def _all(pattern: re.Pattern[str], notes: Sequence[str]) -> list[str]:
    return [(found[1] if pattern.groups else found[0]).strip() for note in notes if (found := pattern.match(note))]


def _first(pattern: re.Pattern[str], notes: Sequence[str]) -> str | None:
    return next(iter(_all(pattern, notes)), None)
