"""One trial of a search as plain data: what was tried, what each fold scored, and how it ended."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fairground.spec.measurement_names import goodness
from fairground.spec.settings import Value

#: asked until it has ended; a diverged trial has no score, least of all zero
TrialState = Literal["asked", "done", "pruned", "diverged", "failed"]
ENDED: tuple[TrialState, ...] = ("done", "pruned", "diverged", "failed")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """`folds` is the validation score by fold, of those that finished; `seconds` what all its runs took in sum.

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
        """The mean over the folds of a trial that is done; None of any other."""
        return mean(self.folds.values()) if self.state == "done" else None

    @property
    def goodness(self) -> float | None:
        """The score turned so that more is better."""
        return None if self.score is None else goodness(self.score, self.higher_is_better)


def mean(values: Iterable[float]) -> float:
    """Return the mean, summed exactly, so that the order of folds cannot move a digit."""
    found = list(values)
    return math.fsum(found) / len(found)


def counts(trials: Sequence[Trial]) -> dict[str, int]:
    """Return how many trials are in each state, states kept apart."""
    return {state: sum(trial.state == state for trial in trials) for state in ("asked", *ENDED)}
