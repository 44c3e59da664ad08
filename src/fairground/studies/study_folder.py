"""Where a study is in a run directory, how it is found again by its name, its hash or its file, and its trials.

`trials.jsonl` has one line per change: what was tried, what each fold scored, how it ended. A trial is written with its
settings before any of its runs starts, so that a resumed search asks nothing twice. A trial without an end is
continued.
"""

import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from fairground.errors import DamageWarning, FairgroundError, StoreError, require
from fairground.files import held, read_json, sweep, write_atomically
from fairground.spec import StudySpec, Value, goodness, nearest, study_from_plain, study_hash, to_plain

#: asked until it has ended; a diverged trial has no score, least of all zero
TrialState = Literal["asked", "done", "pruned", "diverged", "failed"]
ENDED: tuple[TrialState, ...] = ("done", "pruned", "diverged", "failed")


@dataclass(frozen=True)
class StudyFolder:
    """<home>/studies/<hash>: study.json, trials.jsonl, report.html, and the lock of the driver at work."""

    path: Path

    @property
    def spec(self) -> Path:
        return self.path / "study.json"

    @property
    def page(self) -> Path:
        return self.path / "report.html"

    @contextmanager
    def locked(self, study: StudySpec) -> Iterator[None]:
        """Hold the study while the block lasts; a second driver is refused."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make {self.path}: {error.strerror}") from error
        with held(self.path / "driver.lock", f"study {study.name} ({self.path.name})"):
            sweep(self.path)
            write_atomically(self.spec, json.dumps(to_plain(study), indent=1).encode())
            yield


def folder_of(study: StudySpec, home: Path) -> StudyFolder:
    return StudyFolder(Path(home) / "studies" / study_hash(study))


def begun_studies(home: Path) -> dict[str, StudySpec]:
    """Return the studies begun under `home`, by hash, leaving out and naming those that cannot be read."""
    found = {}
    for path in sorted((home / "studies").glob("*/study.json")):
        try:
            found[path.parent.name] = stored_study(path)
        except StoreError as error:
            warnings.warn(f"{error}. This study is left out.", DamageWarning, stacklevel=2)
    return found


def find_begun(home: Path, word: str) -> StudySpec | None:
    """Return the begun study with this name, or with a hash that begins so; None when there is none."""
    begun = begun_studies(home)
    matches = [
        study for name, study in begun.items() if study.name == word or (len(word) >= 4 and name.startswith(word))
    ]
    require(len(matches) < 2, f"'{word}' could be {', '.join(begun)}: use enough of the hash")
    return matches[0] if matches else None


def begun_hint(home: Path, word: str) -> str:
    return nearest(word, [study.name for study in begun_studies(home).values()])


def stored_study(path: Path) -> StudySpec:
    """Return the study in a `study.json`, refusing one that is damaged in a sentence that names it."""
    data = read_json(path, error=StoreError)
    try:
        return study_from_plain(data)
    except FairgroundError as error:
        raise StoreError(f"{path} is damaged: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{path} is damaged: it is not a study ({type(error).__name__} {error})") from error


@dataclass(frozen=True, kw_only=True)
class Trial:
    """`folds` are the validation scores of the folds that finished; `seconds` is what all its runs took in sum.

    `higher_is_better` is what its runs' records say of the metric.
    """

    number: int
    settings: Mapping[str, Value]
    state: TrialState = "asked"
    folds: Mapping[int, float] = field(default_factory=dict)
    failure: str | None = None
    seconds: float = 0.0
    higher_is_better: bool = True

    @property
    def score(self) -> float | None:
        """The mean over the folds of a trial that is done; None for any other."""
        # Summed exactly, so that it does not depend on the order of folds.
        return math.fsum(self.folds.values()) / len(self.folds) if self.state == "done" else None

    @property
    def goodness(self) -> float | None:
        return None if self.score is None else goodness(self.score, self.higher_is_better)


def counts(trials: Sequence[Trial]) -> dict[str, int]:
    return {state: sum(trial.state == state for trial in trials) for state in ("asked", *ENDED)}


class TrialStore:
    """The trials of one study, job by job; the last line about a trial counts. One driver at a time writes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trials.jsonl"

    def trials(self, job: str) -> list[Trial]:
        found: dict[int, Trial] = {}
        for line in self._text().splitlines():
            try:
                entry: dict[str, Any] = json.loads(line)
                if entry.pop("job") == job:
                    folds = {int(fold): score for fold, score in entry.pop("folds").items()}
                    found[entry["number"]] = Trial(**entry, folds=folds)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise StoreError(f"{self.path} is damaged: '{line[:80]}' is not a trial") from error
        return [found[number] for number in sorted(found)]

    def write(self, job: str, trial: Trial) -> None:
        try:
            if self.path.exists() and not self.path.read_bytes().endswith(b"\n"):
                # A driver that was killed while it wrote leaves half a line.
                os.truncate(self.path, len(self._text().encode()))
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"job": job, **asdict(trial)}, allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}") from error

    def _text(self) -> str:
        """Return the complete lines of the file."""
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot read {self.path}: {error}") from error
        return text[: text.rfind("\n") + 1]
