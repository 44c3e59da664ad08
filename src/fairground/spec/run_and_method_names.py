"""What a spec is called: the hash of its canonical JSON, every default spelt out; and the names of methods and data."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fairground.spec import LATER, ComponentSpec, Range, RunSpec, Value

NAME_LENGTH = 12
#: data sets that are read from a path of the user's
OWN_DATA = ("folder", "table", "features")
#: names that say nothing without the folder above
_BARE = ("images", "image", "photos", "pictures", "data", "train", "all")


def to_plain(spec: Any) -> dict[str, Value]:
    """Return the dataclass of a run, a study or a search as JSON-ready data, in the shape its TOML would have."""
    found: dict[str, Value] = {"kind": type(spec).__name__} if isinstance(spec, Range) else {}
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if field.metadata != LATER or value != default:
            found[field.name] = _plain(value)
    return found


def canonical_json(data: Mapping[str, Any]) -> str:
    """Return the one JSON text of `data`: sorted keys, no spaces, no NaN."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def hash_of(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(data).encode()).hexdigest()[:NAME_LENGTH]


def name_of(spec: RunSpec) -> str:
    return hash_of(to_plain(spec))


def method_of(spec: RunSpec) -> str:
    """Return the same hash with the seed left out: runs that share it are repeats of one method."""
    return hash_of(to_plain(spec) | {"seed": 0})


def without_fold(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec without the fold of its split: what the fold models of one repeat share."""
    return {**spec, "split": {key: value for key, value in (spec.get("split") or {}).items() if key != "fold"}}


def method_name(spec: Mapping[str, Any]) -> str:
    """Return what a list calls a run's method: its loss and miner, or the network where nothing was trained."""
    parts = {key: part if isinstance(part, Mapping) else {} for key, part in spec.items()}
    names = {key: str(part.get("name", "none")) for key, part in parts.items()}
    if parts.get("training", {}).get("epochs") == 0:
        head = names.get("head", "none")
        return f"frozen {names.get('trunk', 'none')}" + ("" if head in ("identity", "none") else f" + {head}")
    miner = names.get("miner", "none")
    return names.get("loss", "none") + ("" if miner == "none" else f" {miner}")


def data_name(part: Value | Mapping[str, Any]) -> str:
    """Return what a reader calls a data set: one of the user's own by its folder or file, others by their name."""
    if not isinstance(part, Mapping):
        return str(part)
    name = str(part.get("name", "?"))
    place = part.get("root") or part.get("path")
    if name not in OWN_DATA or not isinstance(place, str) or not place:
        return name
    path = PurePath(place)
    shown = path.stem if name != "folder" else path.name
    return f"{path.parent.name}/{shown}" if shown in _BARE and path.parent.name else shown or name


def _plain(value: object) -> Value:
    if isinstance(value, ComponentSpec):
        return {"name": value.name, **value.settings}
    if dataclasses.is_dataclass(value):
        return to_plain(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    assert value is None or isinstance(value, str | int | float | bool), f"{value!r} is not plain data"
    return value
