"""Layers of a spec: the protocol (with what it `extends`), the user's file, the overrides; later ones win.

Inside a layer a preset (`loss=margin@mlrc-cub200`) comes before what the layer spells out. Naming another component
drops the settings of the one it replaces, except how many images per class a batch has.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from fairground.spec import Value, canonical, check_analyses, fit, from_mapping, nearest, require, run_spec
from fairground.spec.declarations import CAME_LATER, check_settings, settings_of
from fairground.spec.protocols_and_presets import flat_tables, preset_of, protocol_table, protocol_texts
from fairground.spec.run_spec import OPTIONAL, ROOM_OF, ComponentSpec, RunSpec

_SECTIONS: Mapping[str, type[Any]] = {
    "optimiser": run_spec.OptimiserSpec,
    "training": run_spec.TrainingSpec,
    "evaluation": run_spec.EvaluationSpec,
}
#: settings that belong to the protocol rather than to the component, and outlive a change of it
_KEPT = ("sampler.per_class",)


class SpecDraft:
    """A spec under construction: names of parts, and dotted settings, each with its origin."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, tuple[Value, str]] = {}

    def apply_protocol(self, name: str, known: list[str]) -> None:
        require(name in known, f"no protocol '{name}'.{nearest(name, known)} There are: {', '.join(known)}.")
        layer = flat_tables(protocol_table(name), f"protocol {name}")
        layer.pop("abstract", None)
        if parent := layer.pop("extends", None):
            self.apply_protocol(str(parent), list(protocol_texts()))
        self.apply(layer, f"protocol {name}")

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
            self.apply(preset_of(name, preset), f"preset {name}@{preset}")

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
        if key == "optimiser" and isinstance(value, str):
            inner = rest = "name"
        if not rest and head in _SECTIONS:
            example = dataclasses.fields(_SECTIONS[head])[0].name
            require(False, f"{origin}: {head} is a table; set one of its keys, like {head}.{example}")
        self.values[f"{head}.{inner}" if rest else head] = (value, origin)

    def build(self, unsaid: str | None = None) -> RunSpec:
        missing = [key for key in ROOM_OF if key not in self.names]
        missing += ["protocol"] if "protocol" not in self.values else []
        require(not missing, f"the spec does not have: {', '.join(missing)}")
        seed, origin = self.values.get("seed", (0, ""))
        complete: dict[str, Any] = {key: self._part(key, unsaid) for key in ROOM_OF}
        for key, kind in _SECTIONS.items():
            values, origins = self._section(key)
            if key == "optimiser" and ":" in str(values.get("name")):
                known = {field.name for field in dataclasses.fields(kind)}
                own = {inner: values.pop(inner) for inner in list(values) if inner not in known}
                outer = values.get("settings", {})
                assert isinstance(outer, dict), "from the spec of a run"
                values["settings"] = dict(sorted((outer | own).items()))
                origins.setdefault("settings", origins["name"])
            complete[key] = from_mapping(kind, values, section=key, origin=origins.__getitem__)
        check_analyses(complete["evaluation"].analyses)
        protocol = str(self.values["protocol"][0])
        return RunSpec(**complete, seed=fit(f"{origin}: seed", int, seed), protocol=protocol)

    def _section(self, key: str) -> tuple[dict[str, Value], dict[str, str]]:
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
