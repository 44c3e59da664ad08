"""What a recommendation keeps besides its measurements: the time used, and what it ended with.

<home>/recommendations/<name>/ holds race.json, measurements.jsonl, plan.json, report.html and model/. The name is a
hash of
what was asked; the time is left out of it, so that asking for more goes on with the same race.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.errors import StoreError
from fairground.files import read_json, write_atomically
from fairground.records.lock import held
from fairground.spec.identity import NAME_LENGTH, canonical_json


@dataclass
class RaceState:
    """`spent` is the time of all sessions; `result` is what the last complete one ended with, as plain data."""

    home: Path
    name: str
    spent: float = 0.0
    n_openings: int = 0
    result: Mapping[str, Any] | None = None
    #: the pretrained network that suits the data best; empty where there was no choice
    trunk: str = ""

    @property
    def path(self) -> Path:
        """Where everything of this recommendation is."""
        return Path(self.home) / "recommendations" / self.name

    @property
    def page(self) -> Path:
        """The report."""
        return self.path / "report.html"

    @property
    def model(self) -> Path:
        """The folder of the model."""
        return self.path / "model"

    @property
    def plan(self) -> Path:
        """What the model can be made from again."""
        return self.path / "plan.json"

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the recommendation while the block lasts; a second driver is refused."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make {self.path}: {error.strerror}") from error
        with held(self.path / "driver.lock", f"recommendation {self.name}"):
            self._read()
            yield

    def write(self) -> None:
        """Write everything down."""
        entry = {
            "spent": round(self.spent, 1),
            "n_openings": self.n_openings,
            "trunk": self.trunk,
            "result": self.result,
        }
        write_atomically(self.path / "race.json", json.dumps(entry, indent=1).encode())

    def _read(self) -> None:
        path = self.path / "race.json"
        if not path.exists():
            return
        try:
            entry = read_json(path, error=StoreError)
            self.spent, self.n_openings = float(entry["spent"]), int(entry["n_openings"])
            self.trunk, self.result = str(entry.get("trunk", "")), entry["result"]
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path} is damaged ({error}); delete it to go on: measurements are kept") from error


def race_name(asked: Mapping[str, Any]) -> str:
    """Return the name of a recommendation: a hash of what was asked."""
    return hashlib.sha256(canonical_json(asked).encode()).hexdigest()[:NAME_LENGTH]
