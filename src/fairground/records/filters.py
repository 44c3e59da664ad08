"""What the store can be asked for, and the small answers it gives without reading whole records."""

from dataclasses import dataclass
from typing import NamedTuple, TypedDict

from fairground.errors import require
from fairground.records.record import State
from fairground.spec.catalogue import nearest


class Filters(TypedDict, total=False):
    """What records can be searched by; `method` is the hash of a spec without its seed."""

    name: str
    state: State
    method: str
    protocol: str
    dataset: str
    loss: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class Event:
    """Somebody did something: `kind` says what, `run` to which run, `who` and `at` by whom and when."""

    at: str
    who: str
    kind: str
    run: str | None
    detail: str


class ScoreRow(NamedTuple):
    """One score of one run, read without its whole record."""

    name: str
    method: str
    seed: int
    value: float


class RunSummary(NamedTuple):
    """What a list shows of a run, read without its whole record; `score` is of `metric`, None where it has none."""

    name: str
    method: str
    state: State
    protocol: str | None
    dataset: str | None
    loss: str | None
    miner: str | None
    seed: int | None
    metric: str
    score: float | None


def where(filters: Filters) -> tuple[str, list[object]]:
    """Return the condition and its values for the current records that match."""
    known = Filters.__annotations__
    for key in filters:
        require(key in known, f"records cannot be searched by '{key}'.{nearest(key, known)} Use {', '.join(known)}.")
    conditions = ["is_current = 1", *(f"{key} = ?" for key in filters)]
    return " AND ".join(conditions), list(filters.values())
