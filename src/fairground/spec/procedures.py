"""How a study finds settings and gives out seeds: two methods are comparable if both were searched and seeded alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairground.errors import require
from fairground.spec.space import Range, range_from_plain, range_to_plain


@dataclass(frozen=True, kw_only=True)
class UntilSettledSpec:
    """`first` seeds for every method, then `wave` more for those in question, up to `limit` of each.

    Any false verdict, over all waves, appears in at most 1 - `level` of such studies. `margin` is the difference that
    does not matter, in the unit shown: half a point.
    """

    first: int = 3
    wave: int = 2
    limit: int = 15
    level: float = 0.95
    margin: float = 0.5

    def __post_init__(self) -> None:
        key = "until_settled"
        require(self.first >= 2, f"{key}.first must be at least 2 seeds: one run has no scatter; got {self.first}")
        require(self.wave >= 1, f"{key}.wave must be at least 1 seed; got {self.wave}")
        require(self.limit >= self.first, f"{key}.limit must be at least {key}.first, {self.first}; got {self.limit}")
        require(0.5 <= self.level <= 0.999, f"{key}.level must be between 0.5 and 0.999; got {self.level}")
        require(self.margin >= 0, f"{key}.margin must be 0 or more, in the unit shown; got {self.margin}")


@dataclass(frozen=True, kw_only=True)
class SeedProcedure:
    """By which `plan` the seeds of a run's method were given out: `first_seed` and the next ones, judged by `metric`.

    Runs of one procedure may be compared whatever number of seeds it gave to each method.
    """

    plan: UntilSettledSpec
    metric: str
    first_seed: int

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds in the order in which methods get them, as many as any can get."""
        return tuple(range(self.first_seed, self.first_seed + self.plan.limit))

    @property
    def sentence(self) -> str:
        """The procedure as one line for a person."""
        plan = self.plan
        return (
            f"seeds in waves until settled by {self.metric}: {plan.first} for every method, then {plan.wave} more for "
            f"those in question, {plan.limit} at most"
        )

    @property
    def why_fair(self) -> str:
        """Why unequal numbers of seeds are fair here, as a sentence."""
        return (
            "Who gets more seeds follows a rule that was fixed before the first run, the same for every method. The "
            "intervals are wider to pay for looking after every wave: any false verdict, over all waves, appears in at "
            f"most {100 * (1 - self.plan.level):.3g} % of such studies."
        )

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "SeedProcedure":
        """Read a procedure back from JSON data."""
        return cls(**{**data, "plan": UntilSettledSpec(**data["plan"])})


@dataclass(frozen=True, kw_only=True)
class SearchProcedure:
    """`trials` settings out of `ranges`, asked by `sampler`; the best by `metric` on validation, `over` the folds.

    Two runs of one procedure may be compared whatever settings it chose for each. A procedure read from a record of an
    older version says its number of trials only: its `sampler` and `metric` are empty, its `ranges` unknown.
    """

    trials: int
    sampler: str = ""
    startup: int = 0
    pruning: str = ""
    metric: str = ""
    over: str = ""
    n_folds: int = 1
    folds: tuple[int, ...] = (0,)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    defaults_first: bool = False

    @property
    def sentence(self) -> str:
        """The procedure as one line for a person."""
        trials = f"settings searched in {self.trials} trial{'' if self.trials == 1 else 's'}"
        if not self.sampler:
            return trials
        n = len(self.folds)
        first = ", the method's own settings first" if self.defaults_first else ""
        folds = f", {self.over} over {n} of {self.n_folds} folds" if self.n_folds > 1 else ""
        searched = ", ".join(self.ranges) or "nothing"
        return f"{trials} ({self.sampler}{first}) of {searched}; best validation {self.metric}{folds}"

    def to_plain(self) -> dict[str, Any]:
        """Return JSON-ready data; a range carries its kind. What came later is left out where it is not used."""
        ranges = {key: range_to_plain(span) for key, span in self.ranges.items()}
        plain = {**vars(self), "folds": list(self.folds), "ranges": ranges}
        return plain if self.defaults_first else {key: plain[key] for key in plain if key != "defaults_first"}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "SearchProcedure":
        """Read a procedure back."""
        ranges = {key: range_from_plain(span) for key, span in data["ranges"].items()}
        return cls(**{**data, "folds": tuple(data["folds"]), "ranges": ranges})
