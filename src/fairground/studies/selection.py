"""The trial that a study selects: the best mean over the folds, the earliest of equals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairground.spec import Value
from fairground.studies import Trial


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
