"""From TOML and overrides to a checked RunSpec: nothing is dropped and nothing is guessed.

Layers, later ones winning: the protocol (with what it `extends`), the user's file, the overrides. Inside a layer a
preset (`loss=margin@mlrc-cub200`) comes before what the layer spells out. Naming another component drops the settings
of the one it replaces, except how many images per class a batch has. An unknown key is refused with its origin and the
nearest right name, and a value that its component does not allow before anything starts.
"""

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from fairground.errors import InputError, require
from fairground.files import read_text
from fairground.spec.catalogue import canonical, nearest
from fairground.spec.declarations import check_settings, settings_of
from fairground.spec.measurement_names import check_analyses
from fairground.spec.run import OPTIONAL, ROOM_OF, ComponentSpec, EvaluationSpec, OptimiserSpec, RunSpec, TrainingSpec
from fairground.spec.settings import Overrides, Value, fit, from_mapping, typed

DEFAULT_PROTOCOL = "laptop"
#: where overrides come from unless the caller says otherwise; errors begin with it
COMMAND_LINE = "the command line"
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
    """A spec under construction: names of parts, and dotted settings, each with its origin."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, tuple[Value, str]] = field(default_factory=dict)
    unsaid: str | None = None

    def section(self, key: str) -> dict[str, tuple[Value, str]]:
        return {d.removeprefix(f"{key}."): value for d, value in self.values.items() if d.startswith(f"{key}.")}


def load_run(
    *,
    protocol: str | None = None,
    file: Path | None = None,
    overrides: Overrides | Sequence[str] = (),
    unsaid: str | None = None,
    origin: str = COMMAND_LINE,
) -> RunSpec:
    """Return the spec of a protocol, a TOML file and overrides, in that order.

    `origin` is where the overrides come from, for errors. A required setting that is missing is refused or, to show a
    spec that is not to be run, stands as `unsaid`.
    """
    said = read_toml(file) if file else {}
    chosen = protocol or str(said.pop("protocol", DEFAULT_PROTOCOL))
    draft = _Draft(unsaid=unsaid)
    for layer_origin, layer in _protocol_layers(chosen):
        _apply(draft, layer, layer_origin)
    if file:
        _apply(draft, _flatten(said, str(file)), str(file))
    _apply(draft, typed(overrides), origin)
    draft.values["protocol"] = (chosen, origin)
    return _build(draft)


def run_from_plain(
    data: Mapping[str, Value], overrides: Overrides | Sequence[str] = (), *, origin: str = COMMAND_LINE
) -> RunSpec:
    """Return the spec that `to_plain` wrote down, with what the overrides change."""
    draft = _Draft()
    _apply(draft, _flatten(data, "the stored spec"), "the stored spec")
    _apply(draft, typed(overrides), origin)
    return _build(draft)


def shipped_files() -> Traversable:
    """Return the folder of the protocols, presets and studies that come with the package."""
    return resources.files("fairground").joinpath("papers", "protocols")


@cache
def protocol_names() -> Mapping[str, str]:
    """Return the protocols that can be named, each with the first sentence of its description."""
    texts = {name: _protocol_text(name) for name in _protocol_files()}
    return {
        name: _first_sentence(text) for name, text in texts.items() if not tomllib.loads(text).get("abstract", False)
    }


def presets(loss: str) -> dict[str, dict[str, Value]]:
    """Return the published hyperparameters of a loss by the preset's name, each as dotted settings of a run."""
    name = canonical("losses", loss)
    return {preset: _resolve_preset(name, preset) for preset in _presets().get(name, {})}


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error


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
    names = sorted(entry.name for entry in shipped_files().iterdir() if entry.name.endswith(".toml"))
    return [name.removesuffix(".toml") for name in names if name != "presets.toml"]


@cache
def _protocol_text(name: str) -> str:
    return shipped_files().joinpath(f"{name}.toml").read_text(encoding="utf-8")


def _first_sentence(text: str) -> str:
    said = " ".join(line.removeprefix("#").strip() for line in text.partition("\n[")[0].splitlines() if line[:1] == "#")
    return said.partition(". ")[0].rstrip(".") + "."


@cache
def _presets() -> dict[str, dict[str, dict[str, Value]]]:
    return tomllib.loads(shipped_files().joinpath("presets.toml").read_text(encoding="utf-8"))


def _preset_settings(loss: str, preset: str) -> dict[str, Value]:
    known = _presets().get(loss, {})
    require(len(known) > 0, f"loss {loss} has no presets; write loss={loss}")
    require(
        preset in known, f"no preset '{preset}' for loss {loss}.{nearest(preset, known)} There are: {', '.join(known)}."
    )
    return _resolve_preset(loss, preset)


def _resolve_preset(loss: str, preset: str) -> dict[str, Value]:
    said = dict(_presets()[loss][preset])
    parent = said.pop("extends", None)
    settings = {} if parent is None else _resolve_preset(loss, str(parent))
    for part in ("miner", "regulariser", "sampler"):
        if part in said and said[part] != settings.get(part):
            settings = {key: value for key, value in settings.items() if not key.startswith(f"{part}.")}
    # TOML cannot write None.
    return settings | {key: None if value == "none" else value for key, value in said.items()}


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
        else:
            flat[key] = value
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
        _apply(draft, _preset_settings(name, preset), f"preset {name}@{preset}")


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
    require(not missing, f"the spec does not have: {', '.join(missing)}")
    seed, origin = draft.values.get("seed", (0, ""))
    complete: dict[str, Any] = {
        **{key: _part(draft, key) for key in ROOM_OF},
        **{key: _section(draft, key) for key in _SECTIONS},
        "seed": fit(f"{origin}: seed", int, seed),
        "protocol": str(draft.values["protocol"][0]),
    }
    check_analyses(complete["evaluation"].analyses)
    return RunSpec(**complete)


def _section(draft: _Draft, key: str) -> Any:
    said = draft.section(key)
    values = {inner: value for inner, (value, _) in said.items()}
    return from_mapping(_SECTIONS[key], values, section=key, origin=lambda inner: said[inner][1])


def _part(draft: _Draft, key: str) -> ComponentSpec | None:
    name, said = draft.names[key], draft.section(key)
    if name == "none":
        require(not said, f"{key} is none, so it has no settings; {next(iter(said), '')} was set")
        return None
    if ":" in name:
        return ComponentSpec(name=name, settings={inner: value for inner, (value, _) in sorted(said.items())})
    settings = settings_of(ROOM_OF[key], name)
    for inner, (_, origin) in said.items():
        takes = f"{name} takes {', '.join(settings)}" if settings else f"{name} has no settings"
        require(inner in settings, f"{origin}: no setting '{key}.{inner}'.{nearest(inner, settings)} ({takes}.)")
    missing = [inner for inner, setting in settings.items() if setting.is_required and inner not in said]
    require(not missing or draft.unsaid is not None, f"{name} needs {', '.join(f'{key}.{inner}' for inner in missing)}")
    complete: dict[str, Value] = {}
    for inner, setting in settings.items():
        default = draft.unsaid if inner in missing else setting.default
        value, origin = said.get(inner, (default, ""))
        complete[inner] = fit(f"{origin}: {key}.{inner}".removeprefix(": "), setting.hint, value)
    if not missing:
        check_settings(ROOM_OF[key], name, complete)
    return ComponentSpec(name=name, settings=complete)
