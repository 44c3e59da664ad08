"""What a race must remember besides its records: its plan, the time spent, and whether it is over.

<home>/races/<hash>/race.json is written whenever one of these changes. The hash is that of what is raced; the time is
left out of it, so that asking for more time goes on with the same race.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairground.errors import StoreError
from fairground.files import read_json
from fairground.recommend.race_plan import Costs, RacePlan, Rung
from fairground.records.artefacts import write_atomically
from fairground.records.lock import held
from fairground.spec.identity import NAME_LENGTH, canonical_json

#: how many seconds pass before the time spent is written down again
_EVERY = 2.0


@dataclass
class RaceState:
    """The state of one race, and its clock: `limit` is the time given, in seconds, `begun` when this session began."""

    home: Path
    name: str
    limit: float
    costs: Costs | None = None
    plan: RacePlan | None = None
    spent: float = 0.0
    chosen: str | None = None
    #: the runs whose test split is opened once something is chosen
    opened_runs: tuple[str, ...] = ()
    #: the method of every run that was requested
    labels: dict[str, str] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    _written: float = 0.0

    @property
    def path(self) -> Path:
        """Where everything of this race is."""
        return Path(self.home) / "races" / self.name

    @property
    def page(self) -> Path:
        """The report."""
        return self.path / "report.html"

    @property
    def model(self) -> Path:
        """The folder of the trained model."""
        return self.path / "model"

    @property
    def is_over(self) -> bool:
        """Tell whether a method has been chosen, so that the test split may be open."""
        return self.chosen is not None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the race while the block lasts, as it stands on the disk; a second driver is refused."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make {self.path}: {error.strerror}") from error
        with held(self.path / "driver.lock", f"race {self.name}"):
            self._read()
            try:
                yield
            finally:
                self.write()

    def seconds(self) -> float:
        """Return the time spent, over all that took part in it."""
        return self.spent + time.monotonic() - self.begun

    def left(self) -> float:
        """Return the time left."""
        return self.limit - self.seconds()

    def tick(self) -> None:
        """Write the time down now and then: what a kill loses of it is given back to the race."""
        if time.monotonic() - self._written > _EVERY:
            self.write()

    def write(self) -> None:
        """Write everything down."""
        self._written = time.monotonic()
        entry = {
            "spent": round(self.seconds(), 1),
            "chosen": self.chosen,
            "opened_runs": self.opened_runs,
            "labels": self.labels,
            "costs": None if self.costs is None else asdict(self.costs),
            "plan": None if self.plan is None else asdict(self.plan),
        }
        write_atomically(self.path / "race.json", json.dumps(entry, indent=1).encode())

    def _read(self) -> None:
        path = self.path / "race.json"
        if not path.exists():
            return
        try:
            entry = read_json(path, error=StoreError)
            self.spent, self.chosen = float(entry["spent"]), entry["chosen"]
            self.opened_runs, self.labels = tuple(entry["opened_runs"]), dict(entry["labels"])
            self.costs = None if entry["costs"] is None else Costs(**entry["costs"])
            self.plan = None if entry["plan"] is None else _plan(entry["plan"])
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path} is damaged ({error}); delete it to race anew: finished runs are kept") from error


def race_name(asked: Mapping[str, Any]) -> str:
    """Return the name of a race: a hash of what is raced."""
    return hashlib.sha256(canonical_json(asked).encode()).hexdigest()[:NAME_LENGTH]


def _plan(entry: Mapping[str, Any]) -> RacePlan:
    return RacePlan(**{**entry, "rungs": tuple(Rung(**rung) for rung in entry["rungs"])})
