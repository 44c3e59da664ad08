"""How fast networks trained here: images per second of the epochs that the store holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from fairground.records.store import Store


@dataclass(frozen=True, kw_only=True)
class RunSpeed:
    """The median over epochs of runs with one trunk, and the machine of the last of them."""

    images_per_second: float
    hardware: str


def measured_speeds(store: Store) -> dict[str, RunSpeed]:
    """Return how fast each trunk trained here, by its name; none of a trunk that was not trained."""
    found: dict[str, list[float]] = {}
    hardware: dict[str, str] = {}
    for record in store.records():
        trunk = record.spec.get("trunk")
        name = str(trunk.get("name")) if isinstance(trunk, Mapping) else ""
        speeds = [row.images_per_second for row in record.epochs if row.epoch > 0 and row.images_per_second > 0]
        if name and speeds:
            found.setdefault(name, []).extend(speeds)
            hardware[name] = record.provenance.hardware
    return {name: RunSpeed(images_per_second=median(speeds), hardware=hardware[name]) for name, speeds in found.items()}
