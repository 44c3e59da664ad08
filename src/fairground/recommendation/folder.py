"""The folder of a recommendation: plan.json, measurements.jsonl, model/ and report.html.

Its name is a hash of what was asked without the time, so that asking for more time continues the same race. Hundreds of
head trainings take a second each. As runs each would cost more in checkpoints and records than in training, so they are
lines of `measurements.jsonl`, one JSON object each.
"""

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
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


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One method in one repeat of the class folds of some rows, which `scope` names.

    `scores` are means over all classes by metric; `blocks` are those of the deciding metrics, by groups of classes.
    """

    scope: str
    method: str
    repeat: int
    scores: Mapping[str, float]
    blocks: Mapping[str, tuple[float, ...]]
    seconds: float


class Measurements:
    """The measurements of one `scope`, by method and repeat; without a `folder` they are kept in memory alone.

    More images than last time are another scope: their scores are not comparable.
    """

    def __init__(self, folder: Path | None, *, scope: str) -> None:
        self.scope = scope
        self._path = None if folder is None else folder / "measurements.jsonl"
        self._known: dict[tuple[str, int], Measurement] = {}
        if self._path is not None and self._path.is_file():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                # A process that was killed may have left half a line: that is measured again.
                with suppress(ValueError, TypeError, KeyError, AttributeError):
                    data = json.loads(line)
                    blocks = {metric: tuple(values) for metric, values in data["blocks"].items()}
                    found = Measurement(**{**data, "blocks": blocks})
                    if found.scope == scope:
                        self._known[found.method, found.repeat] = found

    def __len__(self) -> int:
        return len(self._known)

    def get(self, method: str, repeat: int) -> Measurement | None:
        return self._known.get((method, repeat))

    def methods(self) -> list[str]:
        """Return all methods that were measured, in the order they were."""
        return list(dict.fromkeys(method for method, _ in self._known))

    def repeats(self, method: str) -> list[int]:
        return sorted(repeat for known, repeat in self._known if known == method)

    def n_fresh(self, method: str) -> int:
        """Return how many repeats from 1 on are there without a gap."""
        return next(count for count in itertools.count() if self.get(method, count + 1) is None)

    def blocks(self, method: str, repeats: Iterable[int], metric: str) -> list[float]:
        """Return the means over repeats of a metric, by groups of classes."""
        found = [one.blocks[metric] for repeat in repeats if (one := self.get(method, repeat)) is not None]
        return [fmean(values) for values in zip(*found, strict=True)]

    def add(self, found: Measurement) -> None:
        """Keep a measurement and append it to the file."""
        self._known[found.method, found.repeat] = found
        if self._path is None:
            return
        try:
            with self._path.open("a+b") as file:
                is_broken = file.tell() > 0 and (file.seek(-1, 2), file.read(1))[1] != b"\n"
                file.write(b"\n" * is_broken + json.dumps(asdict(found)).encode() + b"\n")
        except OSError as error:
            raise StoreError(f"cannot write {self._path}: {error.strerror}") from error


def find_plan(root: Path, name: str) -> Path | None:
    """Return the plan of a recommendation by the beginning of its name; none where there is none."""
    folder = Path(root) / "recommendations"
    found = sorted(folder.glob(f"{name}*/plan.json")) if name and folder.is_dir() else []
    require(len(found) < 2, f"'{name}' means {len(found)} recommendations; give more of the name")
    return found[0] if found else None
