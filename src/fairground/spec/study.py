"""A study, fully said: which methods are compared on which data, how they are searched, and how often repeated.

A study is named by its hash as a run is. The question, what it follows and the number of repeats are left out of it,
so that asking for more repeats goes on with the same search. How seeds are added in waves is part of it: a rule that
could change once results are known would be no rule.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fairground.errors import require
from fairground.spec.catalogue import nearest
from fairground.spec.identity import hash_of
from fairground.spec.procedures import SeedProcedure, UntilSettledSpec
from fairground.spec.settings import Value, parse_override
from fairground.spec.space import Range, range_to_plain

#: more folds than any data set has classes to share out
_MOST_FOLDS = 1000


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """One data set: override words and, where it has one of its own, a protocol. `{data}` in words is its label.

    `ranges` are those that some methods, by label, search on this data set alone; none in place of a range leaves the
    setting as the method's words say it.
    """

    label: str
    protocol: str = ""
    words: tuple[str, ...] = ()
    ranges: Mapping[str, Mapping[str, Range | None]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MethodSpec:
    """One method: what it changes, on which data sets (all unless said), and ranges of its own."""

    label: str
    words: tuple[str, ...]
    on: tuple[str, ...] = ()
    ranges: Mapping[str, Range] = field(default_factory=dict)

    @property
    def overrides(self) -> dict[str, Value]:
        """What the method changes, as typed values by dotted name."""
        return dict(map(parse_override, self.words))


@dataclass(frozen=True, kw_only=True)
class SearchSpec:
    """How settings are found; `trials` 0 means that the methods' words say them.

    `space` tunable takes the ranges of the components a method uses, and the rate of the loss' own weights; explicit
    takes `ranges` and the method's own alone. The first `startup` trials are Sobol points; with `defaults_first` the
    very first is the method as its words and defaults have it (off unless asked for, since searches that have names
    must keep their digits). Trials are asked `wave` at a time, each wave knowing all earlier ones: how many workers
    there are never changes what is asked. With `pruning` median, a trial below the median of the finished ones on each
    of its first `prune_after` folds stops there. The `sampler` grid tries every point of the largest grid of at most
    `trials` points, and nothing else.
    """

    trials: int = 0
    sampler: Literal["gp", "tpe", "random", "grid"] = "gp"
    startup: int = 5
    wave: int = 4
    pruning: Literal["none", "median"] = "none"
    prune_after: int = 1
    space: Literal["tunable", "explicit"] = "tunable"
    ranges: Mapping[str, Range] = field(default_factory=dict)
    defaults_first: bool = False

    def __post_init__(self) -> None:
        require(
            not self.defaults_first or self.sampler != "grid",
            "search.defaults_first is for the samplers gp, tpe and random; a grid has its own points and no others",
        )
        _at_least("search.trials", self.trials, 0)
        _at_least("search.startup", self.startup, 1)
        _at_least("search.wave", self.wave, 1)
        _at_least("search.prune_after", self.prune_after, 1)


@dataclass(frozen=True, kw_only=True)
class FoldsSpec:
    """Which split makes the folds (empty: the protocol's), how many there are, and which are used (empty: all)."""

    split: str = ""
    n: int = 1
    use: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _at_least("folds.n", self.n, 1)
        require(self.n <= _MOST_FOLDS, f"folds.n must be at most {_MOST_FOLDS}; got {self.n}")
        require(
            all(0 <= fold < self.n for fold in self.use) and len(set(self.use)) == len(self.use),
            f"folds.use must name folds in 0..{self.n - 1}, each once; got {list(self.use)}",
        )

    @property
    def used(self) -> tuple[int, ...]:
        """The folds that are trained on."""
        return self.use or tuple(range(self.n))


@dataclass(frozen=True, kw_only=True)
class BudgetSpec:
    """How long every run of the study trains; 0 leaves it to the protocol."""

    epochs: int = 0
    batches_per_epoch: int = 0

    def __post_init__(self) -> None:
        _at_least("budget.epochs", self.epochs, 0)
        _at_least("budget.batches_per_epoch", self.batches_per_epoch, 0)


@dataclass(frozen=True, kw_only=True)
class SelectionSpec:
    """The declared rule: the trial with the best `metric` on validation, `over` the folds."""

    metric: str = "map@r"
    over: Literal["mean"] = "mean"


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """Data sets x methods x (search, folds, budget) x repeats, and the rule that selects.

    With `until_settled` seeds are added in waves instead, and `repeats` is not used. `follows` says which reading of a
    paper it is, its text or its code as run; `differs` in what it is not the paper's.
    """

    name: str
    question: str = ""
    follows: str = ""
    differs: str = ""
    protocol: str = "laptop"
    overrides: tuple[str, ...] = ()
    seed: int = 0
    repeats: int = 1
    data: tuple[DataSpec, ...]
    methods: tuple[MethodSpec, ...]
    search: SearchSpec = field(default_factory=SearchSpec)
    folds: FoldsSpec = field(default_factory=FoldsSpec)
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    selection: SelectionSpec = field(default_factory=SelectionSpec)
    until_settled: UntilSettledSpec | None = None

    def __post_init__(self) -> None:
        _at_least("seed", self.seed, 0)
        _at_least("repeats", self.repeats, 0)
        require(len(self.data) > 0, f"study {self.name} names no data set: write [data]")
        require(len(self.methods) > 0, f"study {self.name} names no method: write [methods]")
        known = [data.label for data in self.data]
        for method in self.methods:
            for label in method.on:
                require(label in known, f"method '{method.label}' is on '{label}'; the data sets are {known}")
        methods = [method.label for method in self.methods]
        for data in self.data:
            for label in data.ranges:
                require(
                    label in methods,
                    f"data set '{data.label}' has ranges for '{label}'.{nearest(label, methods)} The methods are "
                    f"{methods}",
                )
        require(
            self.search.pruning == "none" or self.search.prune_after < len(self.folds.used),
            f"search.prune_after must be below the number of folds, {len(self.folds.used)}, to save anything; "
            f"got {self.search.prune_after}",
        )

    @property
    def search_seed(self) -> int:
        """The seed of every run of the search: settings are compared with all else equal."""
        return self.seed

    @property
    def repeat_seeds(self) -> tuple[int, ...]:
        """The seeds of the final runs, none of which the search has seen; in waves, as many as a method can get."""
        procedure = self.seed_procedure
        return tuple(self.seed + 1 + repeat for repeat in range(self.repeats)) if procedure is None else procedure.seeds

    @property
    def n_first_seeds(self) -> int:
        """How many seeds every method gets: all its repeats, or in waves those before the first look."""
        return self.repeats if self.until_settled is None else self.until_settled.first

    @property
    def seed_procedure(self) -> SeedProcedure | None:
        """How seeds are added in waves; None where every method has the same number of repeats."""
        if self.until_settled is None:
            return None
        return SeedProcedure(plan=self.until_settled, metric=self.selection.metric, first_seed=self.seed + 1)


def study_to_plain(study: StudySpec) -> dict[str, Any]:
    """Return a study as JSON-ready data; a range carries its kind.

    What a study does not use, and older versions did not know, is left out: it keeps the name it had.
    """
    plain = _plain(study)
    assert isinstance(plain, dict)
    if study.until_settled is None:
        del plain["until_settled"]
    if not study.search.defaults_first:
        del plain["search"]["defaults_first"]
    for entry in plain["data"]:
        if not entry["ranges"]:
            del entry["ranges"]
    return plain


def study_hash(study: StudySpec) -> str:
    """Return the study's name in folders and stores: a hash of all that decides its digits."""
    plain = {
        key: value
        for key, value in study_to_plain(study).items()
        if key not in ("name", "question", "follows", "differs", "repeats")
    }
    return hash_of(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Range):
        return range_to_plain(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key.name: _plain(getattr(value, key.name)) for key in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _at_least(key: str, value: int, least: int) -> None:
    require(value >= least, f"{key} must be at least {least}; got {value}")
