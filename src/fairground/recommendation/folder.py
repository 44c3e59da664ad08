"""The folder of a recommendation: plan.json, measurements.jsonl, model/ and report.html.

Its name is a hash of what was asked without the time, so that asking for more time continues the same race.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairground.errors import StoreError, require
from fairground.files import held, read_json, write_atomically
from fairground.spec.identity import NAME_LENGTH, canonical_json


@dataclass
class RecommendationFolder:
    """`plan` is what plan.json holds.

    `spent` are the seconds of all sessions, `n_openings` how often the test classes were opened, `trunk` the network
    that was chosen, `result` what the last session ended with; the rest is what the model is made from.
    """

    root: Path
    name: str
    plan: dict[str, Any] = field(default_factory=lambda: {"spent": 0.0, "n_openings": 0, "trunk": "", "result": None})

    @classmethod
    def of(cls, root: Path, asked: Mapping[str, Any]) -> "RecommendationFolder":
        name = hashlib.sha256(canonical_json(asked).encode()).hexdigest()[:NAME_LENGTH]
        return cls(root=Path(root), name=name)

    @property
    def path(self) -> Path:
        return self.root / "recommendations" / self.name

    @property
    def page(self) -> Path:
        return self.path / "report.html"

    @property
    def model(self) -> Path:
        return self.path / "model"

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the folder while the block lasts; a second process is refused."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make {self.path}: {error.strerror}") from error
        with held(self.path / "driver.lock", f"recommendation {self.name}"):
            if (self.path / "plan.json").exists():
                self.plan |= read_json(self.path / "plan.json", error=StoreError)
            yield

    def write(self, **changes: Any) -> None:
        self.plan |= changes
        write_atomically(self.path / "plan.json", json.dumps(self.plan).encode())


def find_plan(root: Path, name: str) -> Path | None:
    """Return the plan of a recommendation by the beginning of its name; none where there is none."""
    folder = Path(root) / "recommendations"
    found = sorted(folder.glob(f"{name}*/plan.json")) if name and folder.is_dir() else []
    require(len(found) < 2, f"'{name}' means {len(found)} recommendations; give more of the name")
    return found[0] if found else None
