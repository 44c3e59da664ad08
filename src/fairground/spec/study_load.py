"""From a study's TOML, a preset or a file, to a checked StudySpec: `extends` first, unknown keys refused.

Tables of a study and of what it extends are merged key by key; "none" as a value removes an inherited entry.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, get_type_hints

from fairground.errors import require
from fairground.spec.catalogue import nearest
from fairground.spec.load import read_toml, shipped_files
from fairground.spec.procedures import UntilSettledSpec
from fairground.spec.settings import Overrides, Value, fit, from_mapping, override_text, typed
from fairground.spec.space import Choice, Integer, LogReal, Range, Real, Unit, range_from_plain
from fairground.spec.study import (
    BudgetSpec,
    DataSpec,
    FoldsSpec,
    MethodSpec,
    SearchSpec,
    SelectionSpec,
    StudySpec,
)

_SECTIONS: Mapping[str, type[Any]] = {
    "search": SearchSpec,
    "folds": FoldsSpec,
    "budget": BudgetSpec,
    "selection": SelectionSpec,
}
_WAVES = "until_settled"
_PLAIN = ("question", "follows", "differs", "protocol", "overrides", "seed", "repeats")


def study_names() -> list[str]:
    """Return the studies that come with the package, such as `mlrc2020/table4`."""
    return sorted(_names_below(shipped_files().joinpath("studies"), ""))


def load_study(name: str, *, changes: Overrides | Sequence[str] = ()) -> StudySpec:
    """Return the study with this name, or of this file (`*.toml`), with changes on top.

    A key of the study itself (`repeats`, `search.trials`) changes the study; any other is an override for all its runs.
    """
    is_file = name.endswith(".toml")
    data = _layers(read_toml(Path(name)) if is_file else _read_preset(name), name)
    for key, value in typed(changes).items():
        _change(data, key, value)
    return build_study(data, name=Path(name).stem if is_file else name, origin=name if is_file else f"study {name}")


def build_study(data: Mapping[str, Any], *, name: str, origin: str) -> StudySpec:
    """Return the study of nested tables."""
    _known(origin, "", data, [*_PLAIN, *_SECTIONS, _WAVES, "data", "methods"])
    hints = get_type_hints(StudySpec)
    arguments = {key: fit(f"{origin}: {key}", hints[key], data[key]) for key in _PLAIN if key in data}
    for key, kind in _SECTIONS.items():
        arguments[key] = _section(origin, key, kind, data.get(key, {}))
    arguments[_WAVES] = _until_settled(origin, data.get(_WAVES, False))
    arguments["data"] = tuple(_data(origin, label, said) for label, said in _entries(origin, "data", data))
    arguments["methods"] = tuple(_method(origin, label, said) for label, said in _entries(origin, "methods", data))
    study = StudySpec(name=name, **arguments)
    return replace(study, differs=_with_counts(study))


def study_from_plain(data: Mapping[str, Any]) -> StudySpec:
    """Return the study that `study_to_plain` wrote down."""
    said = {key: value for key, value in data.items() if key != "name"}
    for key in ("data", "methods"):
        said[key] = {entry["label"]: {k: v for k, v in entry.items() if k != "label"} for entry in data[key]}
    return build_study(said, name=data["name"], origin="the stored study")


def _with_counts(study: StudySpec) -> str:
    """Return `differs` with the study's own {seeds}, {repeats}, {trials} and {budget}, as they were changed."""
    waves, budget = study.until_settled, study.budget
    n_seeds = str(study.repeats) if waves is None else f"{waves.first} to {waves.limit}"
    epochs = _counted(str(budget.epochs or "the protocol's"), "epoch")
    batches = _counted(str(budget.batches_per_epoch or "the protocol's"), "batch", "batches")
    words = {
        "seeds": _counted(n_seeds, "seed"),
        "repeats": _counted(n_seeds, "repeat"),
        "trials": _counted(str(study.search.trials), "trial"),
        "budget": f"{epochs} of {batches}",
    }
    found = study.differs
    for key, value in words.items():
        found = found.replace(f"{{{key}}}", value)
    return found


def _counted(number: str, one: str, several: str = "") -> str:
    return f"{number} {one}" if number == "1" else f"{number} {several or one + 's'}"


def read_range(where: str, said: Any) -> Range:
    """Return the range of a table: {low, high}, with scale = "log", whole = true or a unit, or {options}."""
    require(isinstance(said, Mapping), f"{where} must be a range like {{ low = 0, high = 1 }}; got {said!r}")
    if "kind" in said:
        return range_from_plain(said)
    _known(where, "", said, ["low", "high", "scale", "whole", "unit", "options"])
    if "options" in said:
        require(set(said) == {"options"}, f"{where} has options, so it has no other key")
        return Choice(options=tuple(said["options"]))
    require({"low", "high"} <= set(said), f"{where} needs low and high")
    low, high = (fit(f"{where}.{key}", float, said[key]) for key in ("low", "high"))
    scale = fit(f"{where}.scale", Literal["linear", "log"], said.get("scale", "linear"))
    if "unit" in said:
        is_plain = scale == "linear" and not said.get("whole", False)
        require(is_plain, f"{where} has a unit, so it is neither whole nor on a log scale")
        return Real(low=low, high=high, unit=fit(f"{where}.unit", Unit, said["unit"]))
    if said.get("whole", False):
        return Integer(low=int(low), high=int(high))
    return LogReal(low=low, high=high) if scale == "log" else Real(low=low, high=high)


def _change(data: dict[str, Any], key: str, value: Value) -> None:
    head, _, inner = key.partition(".")
    if head == "training" and inner in get_type_hints(BudgetSpec):
        head = "budget"
    if key in _PLAIN and key != "overrides":
        data[key] = value
    elif key == _WAVES:
        # `true` keeps what the study says about its waves.
        data[key] = data.get(key) or {} if value is True else value
    elif (head in _SECTIONS or head == _WAVES) and inner:
        said = data.get(head)
        data[head] = {**(said if isinstance(said, Mapping) else {}), inner: value}
    else:
        data["overrides"] = [*data.get("overrides", []), override_text(key, value)]


def _layers(data: dict[str, Any], origin: str, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    parent = data.pop("extends", None)
    if parent is None:
        return data
    require(
        isinstance(parent, str), f"{origin}: extends must be the name of a study or of a .toml file; got {parent!r}"
    )
    require(parent not in seen, f"{origin}: extends goes round in a circle: {' -> '.join([*seen, parent])}")
    is_file = parent.endswith(".toml")
    place = str(Path(origin).parent / parent) if is_file else parent
    below = _layers(read_toml(Path(place)) if is_file else _read_preset(parent), place, (*seen, parent))
    gone = {label for label, said in data.get("methods", {}).items() if said == "none"}
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


def _read_preset(name: str) -> dict[str, Any]:
    known = study_names()
    where = " A file ends in .toml." if Path(name).exists() else ""
    require(name in known, f"no study '{name}'.{nearest(name, known)}{where} `fairground study list` shows them all.")
    return tomllib.loads(shipped_files().joinpath("studies", *f"{name}.toml".split("/")).read_text(encoding="utf-8"))


def _names_below(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _names_below(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".toml") and not entry.name.startswith("_"):
            yield prefix + entry.name.removesuffix(".toml")


def _known(origin: str, where: str, said: Mapping[str, Any], known: list[str]) -> None:
    for key in said:
        hint = f"{nearest(key, known)} There are: {', '.join(known)}."
        require(key in known, f"{origin}: no key '{where}{key}'.{hint}")


def _section(origin: str, key: str, kind: type[Any], said: Any) -> Any:
    require(isinstance(said, Mapping), f"{origin}: {key} is a table; write [{key}]")
    if "ranges" in said:
        said = {**said, "ranges": _ranges(f"{origin}: {key}.ranges", said["ranges"])}
    return from_mapping(kind, said, section=key, origin=lambda _: origin)


def _ranges(where: str, said: Mapping[str, Any]) -> dict[str, Range]:
    return {setting: read_range(f"{where}.{setting}", span) for setting, span in said.items()}


def _until_settled(origin: str, said: Any) -> UntilSettledSpec | None:
    """Return how seeds are added in waves; `true` takes every default."""
    is_right = said is None or isinstance(said, bool | Mapping)
    require(is_right, f"{origin}: {_WAVES} is true, false or a table; write [{_WAVES}]; got {said!r}")
    if said is None or said is False:
        return None
    found: UntilSettledSpec = _section(origin, _WAVES, UntilSettledSpec, {} if said is True else said)
    return found


def _entries(origin: str, key: str, data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    said = data.get(key, {})
    require(isinstance(said, Mapping), f"{origin}: {key} is a table; write [{key}]")
    for label, value in said.items():
        is_list = isinstance(value, list)
        require(
            is_list or isinstance(value, Mapping),
            f"{origin}: {key}.{label} must be a list of overrides or a table of them",
        )
        yield label, {"words": value} if is_list else value


def _words(where: str, value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, list) and all(isinstance(word, str) for word in value)
    require(is_list, f'{where} must be a list of overrides like "loss=triplet"; got {value!r}')
    for word in value:
        require("=" in word, f"{where}: '{word}' is not an override: write key=value, like loss.margin=0.1")
    return tuple(value)


def _data(origin: str, label: str, said: Mapping[str, Any]) -> DataSpec:
    where = f"{origin}: data.{label}"
    _known(origin, f"data.{label}.", said, ["protocol", "words", "ranges"])
    ranges = {
        method: {
            # "fixed" keeps what the method's overrides say.
            setting: None if span in ("fixed", None) else read_range(f"{where}.ranges.{method}.{setting}", span)
            for setting, span in spans.items()
        }
        for method, spans in said.get("ranges", {}).items()
    }
    protocol = fit(f"{where}.protocol", str, said.get("protocol", ""))
    return DataSpec(label=label, protocol=protocol, words=_words(where, said.get("words", [])), ranges=ranges)


def _method(origin: str, label: str, said: Mapping[str, Any]) -> MethodSpec:
    where = f"{origin}: methods.{label}"
    _known(origin, f"methods.{label}.", said, ["words", "on", "ranges"])
    return MethodSpec(
        label=label,
        words=_words(where, said.get("words", [])),
        on=fit(f"{where}.on", tuple[str, ...], said.get("on", [])),
        ranges=_ranges(where, said.get("ranges", {})),
    )
