"""From TOML and `key=value` overrides to a checked RunSpec, with nothing dropped and nothing guessed.

Layers, later ones winning: the protocol (with what it `extends`), the user's file, the overrides. Inside a layer a
preset (`loss=margin@mlrc-cub200`) comes before what the layer spells out. Naming another component forgets the settings
of the one it replaces, save how many images of a class a batch holds. A key nobody knows is refused with its origin and
the nearest right name.
"""

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, get_type_hints

from fairground.errors import InputError, require
from fairground.files import read_text
from fairground.spec.analysis_words import check_analyses
from fairground.spec.catalogue import canonical, nearest
from fairground.spec.declarations import settings_of
from fairground.spec.presets import preset_settings
from fairground.spec.run import OPTIONAL, ROOM_OF, ComponentSpec, EvaluationSpec, OptimiserSpec, RunSpec, TrainingSpec
from fairground.spec.settings import Value, check_value, parse_value

DEFAULT_PROTOCOL = "laptop"
#: where words come from, unless the caller says otherwise; refusals begin with it
COMMAND_LINE = "the command line"
#: a dozen times the longest file that comes with fairground
_MAX_BYTES = 256 << 10
#: the time and memory that a key takes grow with the square of its parts, all of which are on one line
_MAX_DOTS = 200
_SECTIONS: Mapping[str, type[Any]] = {
    "optimiser": OptimiserSpec,
    "training": TrainingSpec,
    "evaluation": EvaluationSpec,
}
_TOP = ("protocol", "seed")
#: settings that belong to the protocol rather than to the component, and outlive a change of it
_KEPT: Mapping[str, tuple[str, ...]] = {"sampler": ("per_class",)}


@dataclass
class _Draft:
    """A spec under construction: names of parts, and dotted settings each with where it was said."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, tuple[Value, str]] = field(default_factory=dict)
    unsaid: str | None = None


def load_run(
    *,
    protocol: str | None = None,
    file: Path | None = None,
    overrides: Sequence[str] = (),
    unsaid: str | None = None,
    origin: str = COMMAND_LINE,
) -> RunSpec:
    """Return the spec said by a protocol, a TOML file and `key=value` overrides, in that order.

    `origin` is where the overrides come from, for refusals.
    What must be said and is not is refused or, to show a spec that is not to be run, stands as `unsaid`.
    """
    said = read_toml(file) if file else {}
    chosen = protocol or str(said.pop("protocol", DEFAULT_PROTOCOL))
    draft = _Draft(unsaid=unsaid)
    for layer_origin, layer in _protocol_layers(chosen):
        _apply(draft, layer, layer_origin)
    if file:
        _apply(draft, _flatten(said, str(file)), str(file))
    _apply(draft, parse_overrides(overrides), origin)
    draft.values["protocol"] = (chosen, origin)
    return _build(draft)


def run_from_plain(data: Mapping[str, Value], overrides: Sequence[str] = (), *, origin: str = COMMAND_LINE) -> RunSpec:
    """Return the spec that `to_plain` wrote down, with what `key=value` overrides change."""
    draft = _Draft()
    _apply(draft, _flatten(data, "the stored spec"), "the stored spec")
    _apply(draft, parse_overrides(overrides), origin)
    return _build(draft)


@cache
def protocol_names() -> Mapping[str, str]:
    """Return the protocols that can be named, each with the first sentence said about it."""
    texts = {name: _protocol_text(name) for name in _protocol_files()}
    return {
        name: _first_sentence(text) for name, text in texts.items() if not tomllib.loads(text).get("abstract", False)
    }


def _protocol_layers(name: str, *, is_parent: bool = False) -> list[tuple[str, dict[str, Value]]]:
    known = _protocol_files() if is_parent else list(protocol_names())
    require(name in known, f"no protocol '{name}'.{nearest(name, known)} There are: {', '.join(known)}.")
    data = tomllib.loads(_protocol_text(name))
    parent = data.pop("extends", None)
    data.pop("abstract", None)
    above = _protocol_layers(str(parent), is_parent=True) if parent else []
    return [*above, (f"protocol {name}", _flatten(data, f"protocol {name}"))]


@cache
def _protocol_files() -> list[str]:
    entries = resources.files("fairground").joinpath("papers", "protocols").iterdir()
    names = sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))
    return [name for name in names if name != "presets"]


@cache
def _protocol_text(name: str) -> str:
    return (
        resources.files("fairground")
        .joinpath("papers", "protocols")
        .joinpath(f"{name}.toml")
        .read_text(encoding="utf-8")
    )


def _first_sentence(text: str) -> str:
    said = " ".join(line.removeprefix("#").strip() for line in text.partition("\n[")[0].splitlines() if line[:1] == "#")
    return said.partition(". ")[0].rstrip(".") + "."


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file says, or refuse in a sentence."""
    text = read_text(path)
    n_dots = max(line.count(".") for line in text.split("\n"))
    require(n_dots <= _MAX_DOTS, f"{path} is not read: a line has {n_dots:,} dots, more than {_MAX_DOTS}; break it up")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error


def _flatten(data: Mapping[str, Any], origin: str) -> dict[str, Value]:
    """Turn nested tables into dotted keys; a part's `name` becomes the part's own key."""
    flat: dict[str, Value] = {}
    for key, value in data.items():
        if key in ROOM_OF and isinstance(value, Mapping):
            require("name" in value, f"{origin}: [{key}] needs a name")
            flat[key] = value["name"]
            flat.update({f"{key}.{inner}": item for inner, item in value.items() if inner != "name"})
        elif isinstance(value, Mapping):
            flat.update({f"{key}.{inner}": item for inner, item in value.items()})
        elif value is None and key in OPTIONAL:
            flat[key] = "none"
        else:
            flat[key] = value
    return flat


def parse_overrides(overrides: Iterable[str]) -> dict[str, Value]:
    """Return `key=value` words as values by key, refusing a key that is said twice."""
    flat: dict[str, Value] = {}
    for text in overrides:
        key, equals, value = text.partition("=")
        require(bool(equals) and bool(key), f"'{text}' is not an override: write key=value, like loss.margin=0.1")
        require(key not in flat, f"'{key}' is said twice")
        flat[key.strip()] = parse_value(value.strip())
    return flat


def _apply(draft: _Draft, layer: Mapping[str, Value], origin: str) -> None:
    for key in (key for key in ROOM_OF if key in layer):
        _name_part(draft, key, layer[key], origin)
    for key, value in layer.items():
        if key not in ROOM_OF:
            _set(draft, key, value, origin)


def _name_part(draft: _Draft, key: str, value: Value, origin: str) -> None:
    room = ROOM_OF[key]
    if value is None or value == "none":
        require(key in OPTIONAL, f"{origin}: {key} cannot be none")
        name, preset = "none", ""
    else:
        require(isinstance(value, str), f"{origin}: {key} must be a component's name; got {value!r}")
        word, _, preset = str(value).partition("@")
        name = canonical(room, word)
    if draft.names.get(key) != name:
        draft.names[key] = name
        kept = [
            f"{key}.{inner}" for inner in _KEPT.get(key, ()) if ":" not in name and inner in settings_of(room, name)
        ]
        for stale in [dotted for dotted in draft.values if dotted.startswith(f"{key}.") and dotted not in kept]:
            del draft.values[stale]
    if preset:
        require(key == "loss", f"{origin}: presets are for losses; write {key}={name}")
        _apply(draft, preset_settings(name, preset), f"preset {name}@{preset}")


def _set(draft: _Draft, key: str, value: Value, origin: str) -> None:
    head, _, rest = key.partition(".")
    known = [*_TOP, *ROOM_OF, *_SECTIONS]
    require(head in known, f"{origin}: no key '{head}'.{nearest(head, known)} There are: {', '.join(known)}.")
    inner, _, deeper = rest.partition(".")
    if deeper:
        outer, _ = draft.values.get(f"{head}.{inner}", ({}, origin))
        require(isinstance(outer, dict), f"{origin}: {head}.{inner} is not a table, so it has no '{deeper}'")
        assert isinstance(outer, dict)
        value = {**outer, deeper: value}
    if not rest and head in _SECTIONS:
        example = dataclasses.fields(_SECTIONS[head])[0].name
        raise InputError(f"{origin}: {head} is a table; set one of its keys, like {head}.{example}")
    draft.values[f"{head}.{inner}" if rest else head] = (value, origin)


def _build(draft: _Draft) -> RunSpec:
    missing = [key for key in ROOM_OF if key not in draft.names]
    missing += ["protocol"] if "protocol" not in draft.values else []
    require(not missing, f"the spec does not say: {', '.join(missing)}")
    parts = {key: _part(draft, key) for key in ROOM_OF}
    sections = {key: _section(draft, key) for key in _SECTIONS}
    seed, origin = draft.values.get("seed", (0, ""))
    seed = check_value(f"{origin}: seed", "int", seed)
    complete: dict[str, Any] = {**parts, **sections, "seed": seed, "protocol": str(draft.values["protocol"][0])}
    return RunSpec(**complete)


def _part(draft: _Draft, key: str) -> ComponentSpec | None:
    name = draft.names[key]
    said = {dotted.partition(".")[2]: value for dotted, value in draft.values.items() if dotted.startswith(f"{key}.")}
    if name == "none":
        require(not said, f"{key} is none, so it has no settings; {next(iter(said), '')} was set")
        return None
    if ":" in name:
        return ComponentSpec(name=name, settings={inner: value for inner, (value, _) in sorted(said.items())})
    settings = settings_of(ROOM_OF[key], name)
    for inner, (_, origin) in said.items():
        takes = f"{name} takes {', '.join(settings)}" if settings else f"{name} has no settings"
        require(inner in settings, f"{origin}: no setting '{key}.{inner}'.{nearest(inner, settings)} ({takes}.)")
    complete: dict[str, Value] = {}
    for inner, setting in settings.items():
        is_unsaid = inner not in said and setting.is_required
        require(not is_unsaid or draft.unsaid is not None, f"{key}.{inner} must be said for {name}")
        value, origin = said.get(inner, (draft.unsaid if is_unsaid else setting.default, ""))
        prefix = f"{origin}: " if origin else ""
        complete[inner] = check_value(f"{prefix}{key}.{inner}", setting.annotation, value)
    return ComponentSpec(name=name, settings=complete)


def _section(draft: _Draft, key: str) -> Any:
    kind = _SECTIONS[key]
    hints = get_type_hints(kind)
    said = {dotted.partition(".")[2]: value for dotted, value in draft.values.items() if dotted.startswith(f"{key}.")}
    arguments: dict[str, Any] = {}
    for inner, (value, origin) in said.items():
        require(
            inner in hints, f"{origin}: no key '{key}.{inner}'.{nearest(inner, hints)} {key} has {', '.join(hints)}."
        )
        checked = check_value(f"{origin}: {key}.{inner}", _annotation(hints[inner]), value)
        arguments[inner] = tuple(checked) if isinstance(checked, list) else checked
        if (key, inner) == ("evaluation", "analyses"):
            check_analyses([str(word) for word in arguments[inner]])
    return kind(**arguments)


def _annotation(hint: Any) -> str:
    return (
        hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint).replace("typing.", "")
    )
