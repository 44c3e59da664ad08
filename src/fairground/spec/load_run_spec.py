"""From TOML and overrides to a checked RunSpec: nothing is dropped and nothing is guessed.

Layers, later ones winning: the protocol (with what it `extends`), the user's file, the overrides. Inside a layer a
preset (`loss=margin@mlrc-cub200`) comes before what the layer spells out. Naming another component drops the settings
of the one it replaces, except how many images per class a batch has. An unknown key is refused with its origin and the
nearest right name, and a value that its component does not allow before anything starts.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fairground.errors import InputError, require
from fairground.files import read_text
from fairground.spec import CAME_LATER, canonical, check_analyses, check_settings, nearest, run_spec, settings_of
from fairground.spec.run_spec import OPTIONAL, ROOM_OF, ComponentSpec, RunSpec
from fairground.spec.settings import Overrides, Value, fit, from_mapping
from fairground.spec.text_and_code import PAPER_OF, text_of_preset

DEFAULT_PROTOCOL = "laptop"
#: where overrides come from by default; errors begin with it
COMMAND_LINE = "the command line"
#: the protocols, presets and studies that come with the package
SHIPPED: Path = Path(__file__).parents[1] / "papers" / "protocols"
_SECTIONS: Mapping[str, type[Any]] = {
    "optimiser": run_spec.OptimiserSpec,
    "training": run_spec.TrainingSpec,
    "evaluation": run_spec.EvaluationSpec,
}
#: settings that belong to the protocol rather than to the component, and outlive a change of it
_KEPT = ("sampler.per_class",)


def load_run(
    *,
    protocol: str | None = None,
    file: Path | None = None,
    overrides: Overrides | None = None,
    unsaid: str | None = None,
    origin: str = COMMAND_LINE,
) -> RunSpec:
    """Return the spec of a protocol, a TOML file and overrides, in that order.

    `origin` is where the overrides come from, for errors. A required setting that is missing is refused or, to show a
    spec that is not to be run, replaced by `unsaid`.
    """
    written = read_toml(file) if file else {}
    chosen = protocol or str(written.pop("protocol", DEFAULT_PROTOCOL))
    draft = _Draft()
    draft.apply_protocol(chosen, list(protocol_names()))
    draft.apply(_flatten(written, str(file)), str(file))
    draft.apply(overrides or {}, origin)
    draft.values["protocol"] = (chosen, origin)
    return draft.build(unsaid)


def run_from_plain(
    data: Mapping[str, Value], overrides: Overrides | None = None, *, origin: str = COMMAND_LINE
) -> RunSpec:
    """Return the spec that `to_plain` wrote down, with what the overrides change."""
    draft = _Draft()
    draft.apply(_flatten(data, "the stored spec"), "the stored spec")
    draft.apply(overrides or {}, origin)
    return draft.build()


@cache
def protocol_names() -> Mapping[str, str]:
    """Return the protocols that can be named, each with the first sentence of its description."""
    found = {}
    for name, text in _protocol_texts().items():
        if not tomllib.loads(text).get("abstract", False):
            lines = [line for line in text.partition("\n[")[0].splitlines() if line.startswith("#")]
            described = " ".join(line.removeprefix("#").strip() for line in lines)
            found[name] = described.partition(". ")[0].rstrip(".") + "."
    return found


@cache
def _protocol_texts() -> dict[str, str]:
    paths = [path for path in sorted(SHIPPED.glob("*.toml")) if path.name != "presets.toml"]
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def presets(loss: str) -> dict[str, dict[str, Value]]:
    """Return the published hyperparameters of a loss by the preset's name, each as dotted settings of a run.

    Those that the paper's text has otherwise follow as `roth-cub200-text` and the like.
    """
    name = canonical("losses", loss)
    written = {preset: _preset(name, preset) for preset in _presets().get(name, {})}
    as_text = {f"{preset}-text": _preset(name, f"{preset}-text") for preset in written if "as-run" not in preset}
    return written | {key: text for key, text in as_text.items() if text != written[key.removesuffix("-text")]}


@cache
def _presets() -> dict[str, dict[str, dict[str, Value]]]:
    return read_toml(SHIPPED / "presets.toml")


def _preset(loss: str, preset: str) -> dict[str, Value]:
    known = _presets().get(loss, {})
    require(len(known) > 0, f"loss {loss} has no presets; write loss={loss}")
    base, family = preset.removesuffix("-text"), preset.partition("-")[0]
    if base != preset and base in known and "as-run" not in base:
        settings = _preset(loss, base)
        return settings | text_of_preset(PAPER_OF[family], (("loss", loss), ("miner", str(settings["miner"]))))
    hint = f"{nearest(preset, known)} There are: {', '.join(known)}."
    require(preset in known, f"no preset '{preset}' for loss {loss}.{hint}")
    # TOML cannot write None.
    written = {key: None if value == "none" else value for key, value in known[preset].items()}
    parent = written.pop("extends", None)
    settings = {} if parent is None else _preset(loss, str(parent))
    for part in ("miner", "regulariser", "sampler"):
        if part in written and written[part] != settings.get(part):
            settings = {key: value for key, value in settings.items() if not key.startswith(f"{part}.")}
    return settings | written


def read_toml(path: Path) -> dict[str, Any]:
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error


def _flatten(data: Mapping[str, Any], origin: str) -> dict[str, Value]:
    """Turn nested tables into dotted keys; a part's `name` becomes the part's own key."""
    flat: dict[str, Value] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            require(key not in ROOM_OF or "name" in value, f"{origin}: [{key}] needs a name")
            is_part = key in ROOM_OF
            flat |= {key if is_part and inner == "name" else f"{key}.{inner}": item for inner, item in value.items()}
        else:
            flat[key] = value
    return flat


class _Draft:
    """A spec under construction: names of parts, and dotted settings, each with its origin."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, tuple[Value, str]] = {}

    def apply_protocol(self, name: str, known: list[str]) -> None:
        require(name in known, f"no protocol '{name}'.{nearest(name, known)} There are: {', '.join(known)}.")
        data = tomllib.loads(_protocol_texts()[name])
        parent = data.pop("extends", None)
        data.pop("abstract", None)
        if parent:
            self.apply_protocol(str(parent), list(_protocol_texts()))
        self.apply(_flatten(data, f"protocol {name}"), f"protocol {name}")

    def apply(self, layer: Mapping[str, Value], origin: str) -> None:
        for key in (key for key in ROOM_OF if key in layer):
            self._name_part(key, layer[key], origin)
        for key, value in layer.items():
            if key not in ROOM_OF:
                self._set(key, value, origin)

    def _name_part(self, key: str, value: Value, origin: str) -> None:
        room, preset = ROOM_OF[key], ""
        if value is None or value == "none":
            require(key in OPTIONAL, f"{origin}: {key} cannot be none")
            name = "none"
        else:
            require(isinstance(value, str), f"{origin}: {key} must be a component's name; got {value!r}")
            word, _, preset = str(value).partition("@")
            name = canonical(room, word)
        if self.names.get(key) != name:
            self.names[key] = name
            takes = settings_of(room, name) if name != "none" and ":" not in name else {}
            for stale in [dotted for dotted in self.values if dotted.startswith(f"{key}.")]:
                if stale not in _KEPT or stale.removeprefix(f"{key}.") not in takes:
                    del self.values[stale]
        if preset:
            require(key == "loss", f"{origin}: presets are for losses; write {key}={name}")
            self.apply(_preset(name, preset), f"preset {name}@{preset}")

    def _set(self, key: str, value: Value, origin: str) -> None:
        head, _, rest = key.partition(".")
        known = ["protocol", "seed", *ROOM_OF, *_SECTIONS]
        require(head in known, f"{origin}: no key '{head}'.{nearest(head, known)} There are: {', '.join(known)}.")
        inner, _, deeper = rest.partition(".")
        if deeper:
            outer, _ = self.values.get(f"{head}.{inner}", ({}, origin))
            require(isinstance(outer, dict), f"{origin}: {head}.{inner} is not a table, so it has no '{deeper}'")
            assert isinstance(outer, dict)
            value = {**outer, deeper: value}
        if not rest and head in _SECTIONS:
            example = dataclasses.fields(_SECTIONS[head])[0].name
            raise InputError(f"{origin}: {head} is a table; set one of its keys, like {head}.{example}")
        self.values[f"{head}.{inner}" if rest else head] = (value, origin)

    def build(self, unsaid: str | None = None) -> RunSpec:
        missing = [key for key in ROOM_OF if key not in self.names]
        missing += ["protocol"] if "protocol" not in self.values else []
        require(not missing, f"the spec does not have: {', '.join(missing)}")
        seed, origin = self.values.get("seed", (0, ""))
        complete: dict[str, Any] = {key: self._part(key, unsaid) for key in ROOM_OF}
        for key, kind in _SECTIONS.items():
            values, origins = self._section(key)
            complete[key] = from_mapping(kind, values, section=key, origin=origins.__getitem__)
        check_analyses(complete["evaluation"].analyses)
        protocol = str(self.values["protocol"][0])
        return RunSpec(**complete, seed=fit(f"{origin}: seed", int, seed), protocol=protocol)

    def _section(self, key: str) -> tuple[dict[str, Value], dict[str, str]]:
        """Return the settings under a key, and the origin of each."""
        inner = {dotted.removeprefix(f"{key}."): dotted for dotted in self.values if dotted.startswith(f"{key}.")}
        values = {name: self.values[dotted][0] for name, dotted in inner.items()}
        return values, {name: self.values[dotted][1] for name, dotted in inner.items()}

    def _part(self, key: str, unsaid: str | None) -> ComponentSpec | None:
        name = self.names[key]
        values, origins = self._section(key)
        if name == "none":
            require(not values, f"{key} is none, so it has no settings; {next(iter(values), '')} was set")
            return None
        if ":" in name:
            return ComponentSpec(name=name, settings=dict(sorted(values.items())))
        settings = settings_of(ROOM_OF[key], name)
        takes = f"{name} takes {', '.join(settings)}" if settings else f"{name} has no settings"
        for inner, origin in origins.items():
            require(inner in settings, f"{origin}: no setting '{key}.{inner}'.{nearest(inner, settings)} ({takes}.)")
        missing = [inner for inner, setting in settings.items() if setting.is_required and inner not in values]
        require(not missing or unsaid is not None, f"{name} needs {', '.join(f'{key}.{inner}' for inner in missing)}")
        complete = {inner: unsaid if inner in missing else setting.default for inner, setting in settings.items()}
        for inner, value in {**complete, **values}.items():
            where = f"{origins.get(inner, '')}: {key}.{inner}".removeprefix(": ")
            complete[inner] = fit(where, settings[inner].hint, value)
        if not missing:
            check_settings(ROOM_OF[key], name, complete)
        for inner in CAME_LATER.get(ROOM_OF[key], frozenset()) & set(complete):
            if complete[inner] == settings[inner].default:
                del complete[inner]
        return ComponentSpec(name=name, settings=complete)
