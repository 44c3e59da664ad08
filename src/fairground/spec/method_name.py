"""What a list calls a run's method: its loss and miner, or the network where nothing was trained."""

from collections.abc import Mapping
from typing import Any


def method_name(spec: Mapping[str, Any]) -> str:
    """Return the name of a method from a plain spec; no loss made an untrained network what it is."""
    if _part(spec, "training").get("epochs") == 0:
        head = _name(spec, "head")
        return f"frozen {_name(spec, 'trunk')}" + ("" if head in ("identity", "none") else f" + {head}")
    miner = _name(spec, "miner")
    return _name(spec, "loss") + ("" if miner == "none" else f" {miner}")


def _part(spec: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = spec.get(key)
    return part if isinstance(part, Mapping) else {}


def _name(spec: Mapping[str, Any], key: str) -> str:
    return str(_part(spec, key).get("name", "none"))
