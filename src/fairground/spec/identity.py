"""The name of a run: the hash of its spec in canonical JSON.

Every default is spelt out before hashing, so that a spec and the same spec with a default written down are one run. A
setting that came later than runs that are named already is left out at its default: they keep their names.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fairground.spec.run import LATER, ComponentSpec, RunSpec
from fairground.spec.settings import Value

NAME_LENGTH = 12


def to_plain(spec: RunSpec) -> dict[str, Value]:
    """Return a spec as JSON-ready data, in the shape its TOML would have."""
    return {field.name: _plain(getattr(spec, field.name)) for field in dataclasses.fields(spec)}


def canonical_json(data: Mapping[str, Any]) -> str:
    """Return the one JSON text of `data`: sorted keys, no spaces, no NaN."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def name_of(spec: RunSpec) -> str:
    """Return the run's name everywhere: the first twelve hex digits of the hash of its canonical JSON."""
    return hashlib.sha256(canonical_json(to_plain(spec)).encode()).hexdigest()[:NAME_LENGTH]


def method_of(spec: RunSpec) -> str:
    """Return the same hash with the seed left out: runs that share it are repeats of one method."""
    plain = to_plain(spec) | {"seed": 0}
    return hashlib.sha256(canonical_json(plain).encode()).hexdigest()[:NAME_LENGTH]


def _plain(value: object) -> Value:
    if isinstance(value, ComponentSpec):
        return {"name": value.name, **value.settings}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field for field in dataclasses.fields(value) if not _is_left_out(field, getattr(value, field.name))]
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    assert value is None or isinstance(value, str | int | float | bool), f"{value!r} is not plain data"
    return value


def _is_left_out(field: "dataclasses.Field[Any]", value: object) -> bool:
    return field.metadata == LATER and value == field.default
