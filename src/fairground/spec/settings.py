"""Settings by dotted name: plain typed values, their `key=value` text, the check against type hints, which differ."""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from pathlib import PurePath
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fairground.spec import InputError, nearest, require

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]
#: what changes a run: values by dotted name, such as {"loss": "triplet", "loss.margin": 0.2}
Overrides = Mapping[str, Value]
Kind = TypeVar("Kind")
#: marks a field that came after runs and studies had been named: at its default it is left out, which keeps the names
LATER: Mapping[str, bool] = MappingProxyType({"came_later": True})

_hints_of: Callable[[Any], dict[str, Any]] = cache(get_type_hints)
_WANTED = {float: "a number", int: "a whole number", bool: "true or false", str: "text", NoneType: "none"}


def parse_override(text: str) -> tuple[str, Value]:
    key, equals, value = text.partition("=")
    require(bool(equals) and bool(key), f"'{text}' is not an override: write key=value, like loss.margin=0.1")
    return key.strip(), parse_value(value.strip())


def parse_overrides(texts: Iterable[str]) -> dict[str, Value]:
    """Return the overrides of a command line; a name may be given once."""
    found: dict[str, Value] = {}
    for text in texts:
        key, value = parse_override(text)
        require(key not in found, f"'{key}' is given twice")
        found[key] = value
    return found


def parse_value(text: str) -> Value:
    """Read a TOML value; a bare word is text, `none` is nothing."""
    if text.lower() in ("none", "null"):
        return None
    try:
        value: Value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool | list | dict) else text


def override_text(key: str, value: Value) -> str:
    """Return the `key=value` that `parse_override` reads as this; a study's file has its overrides in this form."""
    if value is None:
        return f"{key}=none"
    is_bare = isinstance(value, str) and value == value.strip() and parse_value(value) == value
    return f"{key}={value if is_bare else _toml(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def from_mapping(kind: type[Kind], data: Mapping[str, Any], *, section: str, origin: Callable[[str], str]) -> Kind:
    """Return the dataclass that a table describes; `origin` is where a key was given, for errors."""
    hints = _hints_of(kind)
    values = {}
    for key, value in data.items():
        hint = f"{nearest(key, hints)} There are: {', '.join(hints)}."
        require(key in hints, f"{origin(key)}: no key '{section}.{key}'.{hint}")
        values[key] = fit(f"{origin(key)}: {section}.{key}", hints[key], value)
    return kind(**values)


def fit(where: str, hint: Any, value: Any) -> Any:
    """Return `value` as the type hint wants it: 1 becomes 1.0 for a float, a list a tuple for a tuple."""
    fits, result = _fit(hint, value)
    if not fits:
        raise InputError(f"{where} must be {_wanted(hint)}; got {value!r}")
    return result


def from_plain(hint: Any, value: Any) -> Any:
    """Return plain data that was written here as its type hint has it: objects as dataclasses, lists perhaps as tuples.

    Of a choice, which must be between something and None, it is the former.
    """
    kind, options = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return None if value is None else from_plain(options[0], value)
    if kind in (tuple, list):
        return kind(from_plain(options[0], item) for item in value)
    if not isinstance(kind, type) or not is_dataclass(kind) or isinstance(value, kind):
        return value
    hints = _hints_of(kind)
    return kind(**{key: from_plain(hints[key], item) for key, item in value.items()})


def _fit(hint: Any, value: Any) -> tuple[bool, Any]:
    kind, options = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        # The last option first: `none` before text, and text before a number.
        return next((found for option in reversed(options) if (found := _fit(option, value))[0]), (False, value))
    if kind is Literal:
        if value is None and "none" in options:
            return True, "none"  # which a command line reads as nothing
        return any(value == option and type(value) is type(option) for option in options), value
    if kind in (tuple, list, Sequence):
        is_list = isinstance(value, list | tuple) and all(_fit(options[0], item)[0] for item in value)
        return is_list, tuple(value) if kind is tuple and is_list else value
    if kind in (dict, Mapping):
        return isinstance(value, Mapping), value
    if kind is float and type(value) is int:
        return True, float(value)
    if kind is str and isinstance(value, PurePath):
        return True, str(value)
    return kind is Any or type(value) is kind, value


def _wanted(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_wanted, get_args(hint)))
    if get_origin(hint) in (tuple, list, Sequence):
        return 'a list such as ["a", "b"]' if get_args(hint)[0] in (str, Any) else "a list such as [1, 2]"
    return _WANTED.get(hint) or str(hint).replace("typing.", "").replace("collections.abc.", "")


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return a spec as dotted settings without the seed: `loss` is the loss' name, `loss.margin` a setting of it."""
    found: dict[str, str] = {}
    for key, value in spec.items():
        if prefix == "" and key == "seed":
            continue
        dotted = prefix if key == "name" and prefix else f"{prefix}.{key}".removeprefix(".")
        if isinstance(value, Mapping):
            found |= flatten(value, dotted)
        else:
            found[dotted] = _text(value)
    return found


def differing(flat: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the settings that are not the same everywhere, in the order of their first appearance."""
    specs = list(flat)
    keys = dict.fromkeys(key for spec in specs for key in spec)
    return [key for key in keys if len({spec.get(key) for spec in specs}) > 1]


def shared(flat: Iterable[Mapping[str, str]]) -> dict[str, str]:
    specs = list(flat)
    apart = set(differing(specs))
    return {key: value for key, value in (specs[0] if specs else {}).items() if key not in apart}


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_text(item) for item in value)
    return (
        value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    )
