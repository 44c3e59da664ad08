"""The folder of a recommendation: plan.json, measurements.jsonl, model/ and report.html.

Its name is a hash of what was asked without the time, so that asking for more time continues the same search. Hundreds
of head trainings take a second each. As runs each would cost more in checkpoints and records than in training, so they
are lines of `measurements.jsonl`, one JSON object each.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from fairground.errors import StoreError, require
from fairground.files import append_line, held, put_away, read_json, write_atomically
from fairground.records import Content, changes_in
from fairground.spec.run_and_method_names import NAME_LENGTH, canonical_json

#: what plan.json holds before the first session
_NEW = {"spent": 0.0, "n_openings": 0, "network": None, "result": None, "step_seconds": 0.0}


class RecommendationFolder:
    """`plan` is what plan.json holds.

    `title` is that of the page, `spent` are the seconds of all sessions, `n_openings` how often the test classes were
    opened, `network` the one that was chosen, `content` what the request points at, `result` what the last session
    ended with; the rest is what the model is made from.
    """

    def __init__(self, root: Path, asked: Mapping[str, Any]) -> None:
        self.root, self.name = root, hashlib.sha256(canonical_json(asked).encode()).hexdigest()[:NAME_LENGTH]
        self.path = root / "recommendations" / self.name
        self.page, self.model = self.path / "report.html", self.path / "model"
        self.plan: dict[str, Any] = dict(_NEW)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the folder while the block lasts; a second process is refused."""
        self.path.mkdir(parents=True, exist_ok=True)
        with held(self.path / "driver.lock", f"recommendation {self.name}"):
            if (self.path / "plan.json").exists():
                self.plan |= read_json(self.path / "plan.json", error=StoreError)
            yield

    def begin(self, content: Content) -> str:
        """Note what the request points at; where that changed, put earlier sessions away, and return what changed."""
        if what := changes_in(self.plan.get("content", content), content):
            put_away(self.path, "measurements.jsonl", "model", "frozen", "report.html", "plan.json")
            self.plan = {**_NEW, "n_openings": self.plan["n_openings"]}
        self.write(content=dict(content))
        return what

    def write(self, **changes: Any) -> None:
        self.plan |= changes
        write_atomically(self.path / "plan.json", json.dumps(self.plan).encode())


class Measurement(NamedTuple):
    """`values` are those of each validation class of the fold by metric, `classes` their labels."""

    training: str
    steps: int
    classes: Sequence[int]
    values: Mapping[str, Sequence[float]]


class Measurements(dict[tuple[str, int], Measurement]):
    """Methods measured on the class folds of some rows, which `scope` names, by label and fold.

    More images than last time are another scope: their scores are not comparable. Without a `folder` measurements are
    kept in memory alone.
    """

    def __init__(self, folder: Path | None = None, *, scope: str = "") -> None:
        super().__init__()
        self._scope = scope
        self._path = None if folder is None else folder / "measurements.jsonl"
        if self._path is not None and self._path.is_file():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                # A process that was killed may have left half a line: that is measured again.
                with suppress(ValueError):
                    data = json.loads(line)
                    if data.pop("scope") == scope:
                        key = data.pop("method"), data.pop("fold")
                        self[key] = Measurement(**data)

    def add(self, method: str, fold: int, found: Measurement) -> None:
        self[method, fold] = found
        if self._path is not None:
            append_line(self._path, {"scope": self._scope, "method": method, "fold": fold, **found._asdict()})

    def folds(self, method: str) -> list[int]:
        return sorted(fold for known, fold in self if known == method)

    def by_class(self, method: str, metric: str, folds: Iterable[int]) -> dict[int, float]:
        """Return the mean over folds of a metric for each class that validated in them."""
        found: dict[int, list[float]] = {}
        for fold in folds:
            one = self[method, fold]
            for label, value in zip(one.classes, one.values[metric], strict=True):
                found.setdefault(label, []).append(value)
        return {label: fmean(values) for label, values in sorted(found.items())}


def find_plan(root: Path, name: str) -> Path | None:
    """Return the plan of a recommendation by the beginning of its name; none where there is none."""
    folder = Path(root) / "recommendations"
    found = sorted(folder.glob(f"{name}*/plan.json")) if name and folder.is_dir() else []
    require(len(found) < 2, f"'{name}' means {len(found)} recommendations; give more of the name")
    return found[0] if found else None
