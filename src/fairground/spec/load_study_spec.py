"""From a study's TOML to a checked StudySpec: merged with what it `extends`, where "none" removes an entry."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_type_hints

from fairground.spec import SHIPPED, UNSAID, InputError, flatten, nearest, read_toml, require, to_plain
from fairground.spec import study_spec as spec
from fairground.spec.search_ranges import Choice, Integer, LogReal, Range, Real, Unit, range_from_plain
from fairground.spec.settings import Overrides, Value, fit, from_mapping, override_text, parse_override

_SECTIONS: Mapping[str, type[Any]] = {
    "search": spec.SearchSpec,
    "folds": spec.FoldsSpec,
    "budget": spec.BudgetSpec,
    "selection": spec.SelectionSpec,
    "until_settled": spec.UntilSettledSpec,
}
_SHIPPED = SHIPPED / "studies"
#: what a place in `differs` counts
_COUNTED = {
    "budget": ("training.epochs", "training.batches_per_epoch"),
    "seeds": ("repeats",),
    "repeats": ("repeats",),
    "trials": ("search.trials",),
}
#: what selects the epoch of a run selects among trials too, unless the study has another metric for that
_SELECT_BY = "evaluation.select_by"
_PLAIN = ("question", "kind", "follows", "differs", "protocol", "overrides", "settings", "seed", "repeats")
#: what a study follows whose `settings` are those of one reading of a paper
_FOLLOWS: Mapping[str, str] = {
    "text": "the text, as the paper is written, in every setting in which the released code differs from it; what it "
    "does not say is as in the code",
    "code": "the released code as run, with its mistakes, in every setting in which the text differs from it",
}


def study_names() -> list[str]:
    """Return the studies that come with the package, such as `mlrc2020/table4`."""
    files = [path for path in _SHIPPED.rglob("*.toml") if not path.name.startswith("_")]
    return sorted(path.relative_to(_SHIPPED).with_suffix("").as_posix() for path in files)


def load_study(name: str, *, changes: Overrides | None = None) -> spec.StudySpec:
    """Return a study by name or file (`*.toml`); changes are keys of it (`repeats`) or overrides of all its runs."""
    is_file = name.endswith(".toml")
    changes, data = changes or {}, _layers(name)
    for key, value in changes.items():
        _change(data, key, value)
    if _SELECT_BY in changes and "selection.metric" not in changes:
        _change(data, "selection.metric", changes[_SELECT_BY])
    study = _build(data, name=Path(name).stem if is_file else name, origin=name if is_file else f"study {name}")
    study = replace(study, follows=_FOLLOWS.get(study.settings, study.follows))
    source = _source(name)
    is_same = source == name and changes.keys() <= {"data.root", "data.path", "settings"}
    if is_same or not (study.follows or study.differs):
        return study
    reading = {key: value for key, value in changes.items() if key == "settings"}
    return _as_changed(study, load_study(source, changes=reading), str(data.get("differs", "")))


def _source(name: str) -> str:
    """Return the study that says how it relates to a paper: this one, or the one that its file extends."""
    while name.endswith(".toml"):
        data = read_toml(Path(name))
        parent = data.get("extends")
        if not isinstance(parent, str) or "follows" in data or "differs" in data:
            break
        name = str(Path(name).parent / parent) if parent.endswith(".toml") else parent
    return name


def _as_changed(study: spec.StudySpec, source: spec.StudySpec, differs: str) -> spec.StudySpec:
    """Return the study with its changes in `differs`, save counts it has; with other runs it follows nothing."""
    told = {key for place, keys in _COUNTED.items() if f"{{{place}}}" in differs for key in keys}
    ours, theirs = ({job.label: _settings(job) for job in spec.jobs_of(one)} for one in (study, source))
    found: dict[str, dict[str, None]] = {}
    for label in (label for label in ours if ours[label] and label in theirs):
        now, then = ours[label], theirs[label]
        for key in dict.fromkeys([*now, *then]):
            is_new_part = now.get(part := key.partition(".")[0]) != then.get(part) and key != part
            here, there = (settings.get(key, "none") or "empty" for settings in (now, then))
            if there not in (here, UNSAID) and key not in told and not is_new_part:
                found.setdefault(f"{key} {here}", {})[there] = None
    changes = [f"{change} (there {' or '.join(values)})" for change, values in found.items()]
    for word, some in (("without", theirs.keys() - ours.keys()), ("with", ours.keys() - theirs.keys())):
        changes += [f"{word} {', '.join(sorted(some))}"] if some else []
    if not changes:
        return study
    is_other = any(not change.startswith("repeats ") for change in changes)
    all_told = "; ".join([*filter(None, [study.differs]), f"changed from {source.name}: {', '.join(changes)}"])
    return replace(study, follows="" if is_other else study.follows, differs=all_told)


def _settings(job: spec.StudyJob) -> dict[str, str]:
    """Return what decides the results of a job: the settings of its runs, and how they are searched and repeated."""
    study, waves = job.study, job.study.until_settled
    try:
        run = job.spec(seed=study.seed, test=True, unsaid=UNSAID)
    except InputError:  # said when it is to be run
        return {}
    repeats = study.repeats if waves is None else f"{waves.first} to {waves.limit} in waves"
    further = {"search": to_plain(study.search), "selection": to_plain(study.selection), "repeats": repeats}
    return flatten({**to_plain(run), **further})


def study_from_plain(data: Mapping[str, Any]) -> spec.StudySpec:
    """Return the study that `to_plain` wrote down."""
    entries = {
        key: {entry["label"]: {k: v for k, v in entry.items() if k != "label"} for entry in data[key]}
        for key in ("data", "methods")
    }
    plain = {key: value for key, value in data.items() if key != "name"}
    return _build(plain | entries, name=data["name"], origin="the stored study")


def _build(data: Mapping[str, Any], *, name: str, origin: str) -> spec.StudySpec:
    _refuse_unknown(origin, data, (*_PLAIN, *_SECTIONS, "data", "methods"))
    hints = get_type_hints(spec.StudySpec)
    arguments = {key: fit(f"{origin}: {key}", hints[key], data[key]) for key in _PLAIN if key in data}
    for key, kind in _SECTIONS.items():
        value = data.get(key)
        if key == "until_settled" and (value is None or isinstance(value, bool)):
            arguments[key] = kind() if value else None
        else:
            arguments[key] = _table(origin, key, kind, {} if value is None else value)
    for key, kind in (("data", spec.DataSpec), ("methods", spec.MethodSpec)):
        entries = data.get(key, {})
        require(isinstance(entries, Mapping), f"{origin}: {key} is a table; write [{key}]")
        arguments[key] = tuple(_entry(origin, key, kind, label, entry) for label, entry in entries.items())
    metric = dict(map(parse_override, arguments.get("overrides", ()))).get(_SELECT_BY)
    if metric is not None and "metric" not in (data.get("selection") or {}):
        arguments["selection"] = replace(arguments["selection"], metric=metric)
    study = spec.StudySpec(name=name, **arguments)
    return replace(study, differs=_with_counts(study))


def _refuse_unknown(where: str, keys: Iterable[str], known: Sequence[str]) -> None:
    for key in keys:
        hint = f"{nearest(key, known)} There are: {', '.join(known)}."
        require(key in known, f"{where}: no key '{key}'.{hint}")


def _entry(origin: str, key: str, kind: type[Any], label: str, entry: Any) -> Any:
    """Return a data set or method: its overrides, or a table with them as `words`."""
    is_right = isinstance(entry, list | Mapping)
    require(is_right, f"{origin}: {key}.{label} must be a list of overrides or a table of them")
    table = {"words": entry} if isinstance(entry, list) else entry
    return _table(origin, f"{key}.{label}", kind, {"label": label, "words": [], **table})


def _table(origin: str, key: str, kind: type[Any], table: Any) -> Any:
    require(isinstance(table, Mapping), f"{origin}: {key} is a table; write [{key}]; got {table!r}")
    if "ranges" in table:
        table = {**table, "ranges": _ranges(f"{origin}: {key}.ranges", table["ranges"], kind is spec.DataSpec)}
    return from_mapping(kind, table, section=key, origin=lambda _: origin)


def _ranges(where: str, table: Mapping[str, Any], is_by_method: bool) -> dict[str, Any]:
    if not is_by_method:
        return {key: read_range(f"{where}.{key}", span) for key, span in table.items()}
    # "fixed" keeps what the method's overrides have.
    return {
        method: {k: None if v in ("fixed", None) else read_range(f"{where}.{method}.{k}", v) for k, v in spans.items()}
        for method, spans in table.items()
    }


def read_range(where: str, table: Any) -> Range:
    """Return the range of a table: {low, high}, with scale = "log", whole = true or a unit, or {options}."""
    require(isinstance(table, Mapping), f"{where} must be a range like {{ low = 0, high = 1 }}; got {table!r}")
    if "kind" in table:
        return range_from_plain(table)
    _refuse_unknown(where, table, ("low", "high", "scale", "whole", "unit", "options"))
    if "options" in table:
        require(set(table) == {"options"}, f"{where} has options, so it has no other key")
        return Choice(options=tuple(table["options"]))
    require({"low", "high"} <= set(table), f"{where} needs low and high")
    low, high = (fit(f"{where}.{key}", float, table[key]) for key in ("low", "high"))
    scale = fit(f"{where}.scale", Literal["linear", "log"], table.get("scale", "linear"))
    if "unit" in table:
        is_plain = scale == "linear" and not table.get("whole", False)
        require(is_plain, f"{where} has a unit, so it is neither whole nor on a log scale")
        return Real(low=low, high=high, unit=fit(f"{where}.unit", Unit, table["unit"]))
    if table.get("whole", False):
        return Integer(low=int(low), high=int(high))
    return LogReal(low=low, high=high) if scale == "log" else Real(low=low, high=high)


def _with_counts(study: spec.StudySpec) -> str:
    """Return `differs` with the study's own {seeds}, {repeats}, {trials} and {budget}, as they were changed."""
    waves, budget = study.until_settled, study.budget
    n_seeds = study.repeats if waves is None else f"{waves.first} to {waves.limit}"
    epochs = _counted(budget.epochs or "the protocol's", "epoch", "epochs")
    batches = _counted(budget.batches_per_epoch or "the protocol's", "batch", "batches")
    counts = {
        "seeds": _counted(n_seeds, "seed", "seeds"),
        "repeats": _counted(n_seeds, "repeat", "repeats"),
        "trials": _counted(study.search.trials, "trial", "trials"),
        "budget": f"{epochs} of {batches}",
    }
    return re.sub(r"\{(seeds|repeats|trials|budget)\}", lambda found: counts[found[1]], study.differs)


def _counted(number: int | str, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _change(data: dict[str, Any], key: str, value: Value) -> None:
    head, _, inner = key.partition(".")
    if head == "training" and inner in get_type_hints(spec.BudgetSpec):
        head = "budget"
    if key in _PLAIN and key != "overrides":
        data[key] = value
    elif key == "until_settled":
        # `true` keeps what the study has about its waves.
        data[key] = data.get(key) or {} if value is True else value
    elif head in _SECTIONS and inner:
        table = data.get(head)
        data[head] = {**(table if isinstance(table, Mapping) else {}), inner: value}
    else:
        data["overrides"] = [*data.get("overrides", []), override_text(key, value)]


def _layers(name: str, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the tables of a preset or file, merged with those that it extends."""
    known, is_file = study_names(), name.endswith(".toml")
    where = " A file ends in .toml." if Path(name).exists() else ""
    unknown = f"no study '{name}'.{nearest(name, known)}{where} `fairground study list` shows them all."
    require(is_file or name in known, unknown)
    data = read_toml(Path(name) if is_file else _SHIPPED / f"{name}.toml")
    parent = data.pop("extends", None)
    if parent is None:
        return data
    is_text = isinstance(parent, str)
    require(is_text, f"{name}: extends must be the name of a study or of a .toml file; got {parent!r}")
    require(parent not in seen, f"{name}: extends goes round in a circle: {' -> '.join([*seen, parent])}")
    below = _layers(str(Path(name).parent / parent) if parent.endswith(".toml") else parent, (*seen, parent))
    gone = {label for label, entry in data.get("methods", {}).items() if entry == "none"}
    for entry in below.get("data", {}).values():
        # A method that is removed takes its ranges on single data sets along.
        if gone and isinstance(entry, dict) and "ranges" in entry:
            entry["ranges"] = {label: spans for label, spans in entry["ranges"].items() if label not in gone}
    return _merge(below, data)


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        if value == "none":
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _merge(merged[key], value)
        else:
            merged[key] = value
    return merged
