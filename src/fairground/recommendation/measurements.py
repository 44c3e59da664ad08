"""Every cross-validated score of a recommendation in one file, appended as soon as it is known.

Hundreds of head trainings take a second each. As runs each would cost more in checkpoints and records than in training,
so they are lines of `measurements.jsonl`, one JSON object each.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fairground.errors import StoreError


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
                self._read(line)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, method: str, repeat: int) -> Measurement | None:
        return self._known.get((method, repeat))

    def methods(self) -> list[str]:
        """Return all methods that were measured, in the order they were."""
        return list(dict.fromkeys(method for method, _ in self._known))

    def repeats(self, method: str) -> list[int]:
        return sorted(repeat for known, repeat in self._known if known == method)

    def add(self, found: Measurement) -> None:
        """Keep a measurement and append it to the file."""
        self._known[found.method, found.repeat] = found
        if self._path is None:
            return
        try:
            with self._path.open("a+b") as file:
                # A process that was killed may have left half a line.
                is_broken = file.tell() > 0 and (file.seek(-1, 2), file.read(1))[1] != b"\n"
                file.write(b"\n" * is_broken + json.dumps(asdict(found)).encode() + b"\n")
        except OSError as error:
            raise StoreError(f"cannot write {self._path}: {error.strerror}") from error

    def _read(self, line: str) -> None:
        try:
            data = json.loads(line)
            blocks = {metric: tuple(values) for metric, values in data["blocks"].items()}
            found = Measurement(**{**data, "blocks": blocks})
        except (ValueError, TypeError, KeyError, AttributeError):
            return
        if found.scope == self.scope:
            self._known[found.method, found.repeat] = found
