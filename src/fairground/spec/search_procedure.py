"""How settings are searched: what must be the same for two searched methods to have had the same chance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairground.spec.space import Range, range_from_plain, range_to_plain


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
