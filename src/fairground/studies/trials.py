"""The trials of a study, each written to trials.jsonl before its first run and when it changes, and the selection."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from fairground.spec import StoreError, Value, append_line, goodness, read_text

#: asked until it has ended; a diverged trial has no score, least of all zero
TrialState = Literal["asked", "done", "pruned", "diverged", "failed"]
ENDED: tuple[TrialState, ...] = ("done", "pruned", "diverged", "failed")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """`folds` are the validation scores of the folds that finished; `seconds` is what all its runs took in sum."""

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


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The settings a job goes on with; `trial` and `score` are None where nothing was searched."""

    settings: Mapping[str, Value]
    trial: int | None = None
    score: float | None = None
    n_trials: int = 0


def select(trials: Sequence[Trial]) -> Selected | None:
    """Return the trial with the best mean over the folds, the earliest of equals; None when none is done."""
    done = [(trial.goodness, -trial.number, trial) for trial in trials if trial.goodness is not None]
    if not done:
        return None
    best = max(done, key=lambda row: row[:2])[2]
    return Selected(settings=dict(best.settings), trial=best.number, score=best.score, n_trials=len(trials))


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
        if self.path.exists():
            # A driver that was killed while it wrote leaves half a line.
            os.truncate(self.path, len(self._text().encode()))
        append_line(self.path, {"job": job, **asdict(trial)})

    def _text(self) -> str:
        text = read_text(self.path, error=StoreError) if self.path.exists() else ""
        return text[: text.rfind("\n") + 1]
