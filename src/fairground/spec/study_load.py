"""From a study's TOML, a preset or a file, to a checked StudySpec: `extends` first, unknown keys refused.

Tables of a study and of what it extends are merged key by key; "none" as a value takes an inherited entry away.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, get_type_hints

from fairground.errors import require
from fairground.spec.catalogue import nearest
from fairground.spec.load import read_toml
from fairground.spec.seed_procedure import UntilSettledSpec
from fairground.spec.settings import check_value
from fairground.spec.space import Choice, Integer, LogReal, Range, Real
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
_ANNOTATIONS = {
    "question": "str",
    "follows": "str",
    "differs": "str",
    "protocol": "str",
    "overrides": "list[str]",
    "seed": "int",
    "repeats": "int",
}


def study_names() -> list[str]:
    """Return the studies that come with the package, such as `mlrc2020/table4`."""
    return sorted(_flattened(resources.files("fairground").joinpath("papers", "protocols").joinpath("studies"), ""))


def load_study(name: str, *, changes: Sequence[str] = ()) -> StudySpec:
    """Return the study with this name, or said by this file (`*.toml`), with `key=value` changes on top.

    A key of the study itself (`repeats`, `search.trials`) changes the study; any other is an override for all its runs.
    """
    is_file = name.endswith(".toml")
    data = _layers(read_toml(Path(name)) if is_file else _read_preset(name), name)
    for word in changes:
        _change(data, word)
    return build_study(data, name=Path(name).stem if is_file else name, origin=name if is_file else f"study {name}")


def build_study(data: Mapping[str, Any], *, name: str, origin: str) -> StudySpec:
    """Return the study said by nested tables, refusing keys nobody knows."""
    _known(origin, "", data, [*_PLAIN, *_SECTIONS, _WAVES, "data", "methods"])
    arguments: dict[str, Any] = {}
    for key in _PLAIN:
        if key in data:
            value = check_value(f"{origin}: {key}", _ANNOTATIONS[key], data[key])
            arguments[key] = tuple(value) if isinstance(value, list) else value
    for key, kind in _SECTIONS.items():
        arguments[key] = _section(origin, key, kind, data.get(key, {}))
    arguments[_WAVES] = _until_settled(origin, data.get(_WAVES, False))
    arguments["data"] = tuple(_data(origin, label, said) for label, said in _entries(origin, "data", data))
    arguments["methods"] = tuple(_method(origin, label, said) for label, said in _entries(origin, "methods", data))
    study = StudySpec(name=name, **arguments)
    return replace(study, differs=_with_counts(study))


def _with_counts(study: StudySpec) -> str:
    """Return `differs` with the study's own {seeds}, {repeats}, {trials} and {budget}, whatever was changed in it."""
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
    """Return the range a table says: {low, high}, with scale = "log", whole = true or a unit, or {options}."""
    require(isinstance(said, Mapping), f"{where} must be a range like {{ low = 0, high = 1 }}; got {said!r}")
    _known(where, "", said, ["low", "high", "scale", "whole", "unit", "options"])
    if "options" in said:
        require(set(said) == {"options"}, f"{where} has options, so it has no other key")
        return Choice(options=tuple(said["options"]))
    require({"low", "high"} <= set(said), f"{where} needs low and high")
    low = check_value(f"{where}.low", "float", said["low"])
    high = check_value(f"{where}.high", "float", said["high"])
    assert isinstance(low, float)
    assert isinstance(high, float)
    scale = check_value(f"{where}.scale", "Literal['linear', 'log']", said.get("scale", "linear"))
    if "unit" in said:
        unit = check_value(f"{where}.unit", "Literal['radians', 'degrees']", said["unit"])
        is_plain = scale == "linear" and not said.get("whole", False)
        require(is_plain, f"{where} has a unit, so it is neither whole nor on a log scale")
        return Real(low=low, high=high, unit="degrees" if unit == "degrees" else "radians")
    if said.get("whole", False):
        return Integer(low=int(low), high=int(high))
    return LogReal(low=low, high=high) if scale == "log" else Real(low=low, high=high)


def _change(data: dict[str, Any], word: str) -> None:
    key, equals, text = word.partition("=")
    require(bool(equals) and bool(key), f"'{word}' is not a change: write key=value, like repeats=3 or loss.margin=0.1")
    head, _, inner = key.partition(".")
    if head == "training" and inner in get_type_hints(BudgetSpec):
        head = "budget"
    if key in _PLAIN and key != "overrides":
        data[key] = _value(text)
    elif key == _WAVES:
        # `true` keeps what the study says of its waves.
        data[key] = data.get(key) or {} if _value(text) is True else _value(text)
    elif (head in _SECTIONS or head == _WAVES) and inner:
        said = data.get(head)
        data[head] = {**(said if isinstance(said, Mapping) else {}), inner: _value(text)}
    else:
        data["overrides"] = [*data.get("overrides", []), word]


def _value(text: str) -> Any:
    """Read a TOML value; a bare word is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


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
        # A method that is taken away takes the ranges it had on some data set along.
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
    path = resources.files("fairground").joinpath("papers", "protocols").joinpath("studies", *f"{name}.toml".split("/"))
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _flattened(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _flattened(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".toml") and not entry.name.startswith("_"):
            yield prefix + entry.name.removesuffix(".toml")


def _known(origin: str, where: str, said: Mapping[str, Any], known: list[str]) -> None:
    for key in said:
        hint = f"{nearest(key, known)} There are: {', '.join(known)}."
        require(key in known, f"{origin}: no key '{where}{key}'.{hint}")


def _section(origin: str, key: str, kind: type[Any], said: Any) -> Any:
    require(isinstance(said, Mapping), f"{origin}: {key} is a table; write [{key}]")
    hints = get_type_hints(kind)
    _known(origin, f"{key}.", said, list(hints))
    arguments: dict[str, Any] = {}
    for inner, value in said.items():
        where = f"{origin}: {key}.{inner}"
        if inner == "ranges":
            arguments[inner] = {setting: read_range(f"{where}.{setting}", span) for setting, span in value.items()}
            continue
        hint = hints[inner]
        annotation = hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint)
        checked = check_value(where, annotation.replace("typing.", ""), value)
        arguments[inner] = tuple(checked) if isinstance(checked, list) else checked
    return kind(**arguments)


def _until_settled(origin: str, said: Any) -> UntilSettledSpec | None:
    """Return how seeds are added in waves; `true` takes every default."""
    is_right = isinstance(said, bool | Mapping)
    require(is_right, f"{origin}: {_WAVES} is true, false or a table; write [{_WAVES}]; got {said!r}")
    if said is False:
        return None
    found = _section(origin, _WAVES, UntilSettledSpec, {} if said is True else said)
    assert isinstance(found, UntilSettledSpec)
    return found


def _entries(origin: str, key: str, data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    said = data.get(key, {})
    require(isinstance(said, Mapping), f"{origin}: {key} is a table; write [{key}]")
    for label, value in said.items():
        is_list = isinstance(value, list)
        require(
            is_list or isinstance(value, Mapping), f"{origin}: {key}.{label} must be a list of words or a table of them"
        )
        yield label, {"words": value} if is_list else value


def _words(where: str, value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, list) and all(isinstance(word, str) for word in value)
    require(is_list, f'{where} must be a list of words like "loss=triplet"; got {value!r}')
    for word in value:
        require("=" in word, f"{where}: '{word}' is not an override: write key=value, like loss.margin=0.1")
    return tuple(value)


def _data(origin: str, label: str, said: Mapping[str, Any]) -> DataSpec:
    _known(origin, f"data.{label}.", said, ["protocol", "words", "ranges"])
    protocol = check_value(f"{origin}: data.{label}.protocol", "str", said.get("protocol", ""))
    words = _words(f"{origin}: data.{label}", said.get("words", []))
    where = f"{origin}: data.{label}.ranges"
    ranges = {
        method: {setting: _range_or_fixed(f"{where}.{method}.{setting}", span) for setting, span in spans.items()}
        for method, spans in said.get("ranges", {}).items()
    }
    return DataSpec(label=label, protocol=str(protocol), words=words, ranges=ranges)


def _range_or_fixed(where: str, said: Any) -> Range | None:
    """Return a range, or none for the word `fixed`: what the method's words say is kept."""
    return None if said == "fixed" else read_range(where, said)


def _method(origin: str, label: str, said: Mapping[str, Any]) -> MethodSpec:
    where = f"{origin}: methods.{label}"
    _known(origin, f"methods.{label}.", said, ["words", "on", "ranges"])
    ranges = {setting: read_range(f"{where}.{setting}", span) for setting, span in said.get("ranges", {}).items()}
    on = check_value(f"{where}.on", "list[str]", said.get("on", []))
    assert isinstance(on, list)
    return MethodSpec(label=label, words=_words(where, said.get("words", [])), on=tuple(map(str, on)), ranges=ranges)
