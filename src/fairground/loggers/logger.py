"""What a logger gets of one run: its settings and tags once, every epoch's row once, how it ended.

A logger may get a row again, after a kill and a resume: it looks up what it holds already and never writes it twice.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fairground.records.record import EpochRow, RunRecord
from fairground.spec.identity import flatten

#: one number: what it is called, at which epoch, its value
Number = tuple[str, int, float]


@dataclass(frozen=True, kw_only=True)
class Introduction:
    """A run as a logger gets to know it; `settings` are dotted, as on the command line."""

    name: str
    title: str
    settings: Mapping[str, str]
    tags: Mapping[str, str]


class RunLogger(ABC):
    """One run in one place. What it wrote is safe once a method has returned, as far as the place can promise it."""

    @abstractmethod
    def write(self, numbers: Iterable[Number]) -> None:
        """Write numbers that are not there yet."""

    @abstractmethod
    def close(self, state: str) -> None:
        """Let go of the run: done, diverged, failed, pruned, or stopped when it may be resumed."""


def introduce(name: str, spec: Mapping[str, Any]) -> Introduction:
    """Return a run's introduction from its spec."""
    settings = {"seed": str(spec.get("seed", "")), **flatten(spec)}
    parts = [settings.get(part, "none") for part in ("loss", "miner", "regulariser")]
    title = " + ".join(part for part in parts if part != "none")
    tags = {"run": name, "protocol": settings.get("protocol", ""), "data": settings.get("data", "")}
    return Introduction(name=name, title=f"{title} {name}", settings=settings, tags=tags)


def numbers_of(rows: Iterable[EpochRow]) -> list[Number]:
    """Return the numbers of some epochs; epoch 0 is the untrained model."""
    found: list[Number] = []
    for row in rows:
        found += [(f"validation/{metric}", row.epoch, value) for metric, value in row.validation.items()]
        if row.loss is not None:
            trained = {"loss": row.loss, "images_per_second": row.images_per_second, "step": float(row.step)}
            found += [(f"train/{name}", row.epoch, value) for name, value in trained.items()]
    return found


def results_of(record: RunRecord) -> list[Number]:
    """Return the final scores of a run, at the epoch they belong to."""
    epoch = record.best_epoch or (record.epochs[-1].epoch if record.epochs else 0)
    return [(f"final/{score.split}/{score.metric}", epoch, score.value) for score in record.scores]
