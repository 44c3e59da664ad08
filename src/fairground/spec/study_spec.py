"""A study: which methods are compared on which data, how they are searched, how often repeated, and its runs.

A study is named by its hash as a run is. The number of repeats is left out of it, so that asking for more goes on with
the same search; how seeds are added in waves is not: a rule that could change once results are known is not a rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fairground import spec as room
from fairground.spec import UNSAID, declared, hash_of, load_run, nearest, require, to_plain
from fairground.spec.run_spec import ROOM_OF, RunSpec, check_bounds
from fairground.spec.search_ranges import LogReal, Range, contains, range_for, range_from_plain
from fairground.spec.settings import LATER, Value, parse_override

#: as MLRC searched the rate of a loss' own weights
LOSS_RATE = LogReal(low=1e-6, high=1.0)
#: what a study asks: which method is best, what a factor or a regulariser does, what a toy shows, what goes with the
#: score, what networks are worth before training, whether newer losses are better
Kind = Literal["ranking", "factor", "regularisation", "toy", "correlation", "untrained", "progress"]


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """One data set: overrides and, where it has one of its own, a protocol. `{data}` in an override is its label.

    `ranges` are those that some methods, by label, search on this data set alone; none in place of a range leaves the
    setting as the method's overrides have it.
    """

    label: str
    protocol: str = ""
    words: tuple[str, ...] = ()
    ranges: Mapping[str, Mapping[str, Range | None]] = field(default_factory=dict, metadata=LATER)


@dataclass(frozen=True, kw_only=True)
class MethodSpec:
    """One method: what it changes, on which data sets (all if empty), and ranges of its own."""

    label: str
    words: tuple[str, ...]
    on: tuple[str, ...] = ()
    ranges: Mapping[str, Range] = field(default_factory=dict)

    @property
    def overrides(self) -> dict[str, Value]:
        return dict(map(parse_override, self.words))


@dataclass(frozen=True, kw_only=True)
class SearchSpec:
    """How settings are found; with `trials` 0 they are those of the methods' overrides.

    `space` tunable takes the ranges of the components a method uses, and the rate of the loss' own weights; explicit
    takes `ranges` and the method's own alone. The first `startup` trials are Sobol points; with `defaults_first` the
    very first is the method as it is. Trials are asked `wave` at a time, so that the number of workers never changes
    what is asked. With `pruning` median, a trial below the median on each of its first `prune_after` folds stops there.
    """

    trials: int = 0
    sampler: Literal["gp", "tpe", "random", "grid"] = "gp"
    startup: int = 5
    wave: int = 4
    pruning: Literal["none", "median"] = "none"
    prune_after: int = 1
    space: Literal["tunable", "explicit"] = "tunable"
    ranges: Mapping[str, Range] = field(default_factory=dict)
    defaults_first: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        complaint = "search.defaults_first is for the samplers gp, tpe and random; a grid has its own points"
        require(not self.defaults_first or self.sampler != "grid", f"{complaint} and no others")
        check_bounds("search", self, "[0, inf)", "trials")
        check_bounds("search", self, "[1, inf)", "startup", "wave", "prune_after")


@dataclass(frozen=True, kw_only=True)
class FoldsSpec:
    """Which split makes the folds (empty: the protocol's), how many there are, and which are used (empty: all)."""

    split: str = ""
    n: int = 1
    use: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_bounds("folds", self, "[1, 1000]", "n")
        is_fine = {*self.use} <= {*range(self.n)} and len(set(self.use)) == len(self.use)
        require(is_fine, f"folds.use must name folds in 0..{self.n - 1}, each once; got {list(self.use)}")

    @property
    def used(self) -> tuple[int, ...]:
        return self.use or tuple(range(self.n))


@dataclass(frozen=True, kw_only=True)
class BudgetSpec:
    """How long every run of the study trains; 0 leaves it to the protocol."""

    epochs: int = 0
    batches_per_epoch: int = 0

    def __post_init__(self) -> None:
        check_bounds("budget", self, "[0, inf)", "epochs", "batches_per_epoch")


@dataclass(frozen=True, kw_only=True)
class SelectionSpec:
    """The declared rule: the trial with the best `metric` on validation, `over` the folds."""

    metric: str = "map@r"
    over: Literal["mean"] = "mean"


@dataclass(frozen=True, kw_only=True)
class UntilSettledSpec:
    """`first` seeds for every method, then `wave` more for those in question, up to `limit` of each.

    A false verdict in any wave appears in at most 1 - `level` of such studies. A `margin`, as shown, does not matter.
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

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many seeds the runs are compared."""
        return (*range(self.first, self.limit, self.wave), self.limit)


@dataclass(frozen=True, kw_only=True)
class SeedProcedure:
    """The `plan` by which seeds were given out, `first_seed` and the next; its runs may all be compared."""

    plan: UntilSettledSpec
    metric: str
    first_seed: int

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds in the order in which methods get them, as many as any can get."""
        return tuple(range(self.first_seed, self.first_seed + self.plan.limit))

    @property
    def sentence(self) -> str:
        plan = self.plan
        waves = f"{plan.first} for every method, then {plan.wave} more for those in question, {plan.limit} at most"
        return f"seeds in waves until settled by {self.metric}: {waves}"

    @property
    def why_fair(self) -> str:
        return (
            "Who gets more seeds follows a rule that was fixed before the first run, the same for every method. The "
            "intervals are wider to pay for looking after every wave: any false verdict, over all waves, appears in at "
            f"most {100 * (1 - self.plan.level):.3g} % of such studies."
        )


@dataclass(frozen=True, kw_only=True)
class SearchProcedure:
    """`trials` settings out of `ranges`, asked by `sampler`; the best by `metric` on validation, `over` the folds.

    Two runs of one procedure may be compared whatever settings it chose for each. Where a record has only the number of
    trials, `sampler` and `metric` are empty and `ranges` unknown.
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
    defaults_first: bool = field(default=False, metadata=LATER)

    @property
    def sentence(self) -> str:
        return self.told(", ".join(self.ranges) or "nothing")

    def told(self, searched: str) -> str:
        trials = f"settings searched in {self.trials} trial{'' if self.trials == 1 else 's'}"
        if not self.sampler:
            return trials
        first = ", the method's own settings first" if self.defaults_first else ""
        folds = f", {self.over} over {len(self.folds)} of {self.n_folds} folds" if self.n_folds > 1 else ""
        return f"{trials} ({self.sampler}{first}) of {searched}; best validation {self.metric}{folds}"

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "SearchProcedure":
        ranges = {key: range_from_plain(span) for key, span in data["ranges"].items()}
        return cls(**{**data, "folds": tuple(data["folds"]), "ranges": ranges})


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """Data sets x methods x (search, folds, budget) x repeats, and the rule that selects.

    With `until_settled` seeds are added in waves instead, and `repeats` is not used. `kind` says what sort of answer
    the question wants, `follows` which reading of a paper it is, its text or its code as run, `differs` in what it is
    not the paper's. With `settings` text or code, every setting in which the two differ is that of the one, save what
    the study's own overrides, its data sets' or the search say. The search runs on `seed`, the final runs on the next
    ones.
    """

    name: str
    question: str = ""
    kind: Kind = field(default="ranking", metadata=LATER)
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
    until_settled: UntilSettledSpec | None = field(default=None, metadata=LATER)
    settings: Literal["", "text", "code"] = field(default="", metadata=LATER)

    def __post_init__(self) -> None:
        check_bounds("", self, "[0, inf)", "seed", "repeats")
        require(len(self.data) > 0, f"study {self.name} names no data set: write [data]")
        require(len(self.methods) > 0, f"study {self.name} names no method: write [methods]")
        datasets, methods = [data.label for data in self.data], [method.label for method in self.methods]
        for method in self.methods:
            for label in method.on:
                require(label in datasets, f"method '{method.label}' is on '{label}'; the data sets are {datasets}")
        for data in self.data:
            for label in data.ranges:
                hint = f"{nearest(label, methods)} The methods are {methods}"
                require(label in methods, f"data set '{data.label}' has ranges for '{label}'.{hint}")
        parts: list[DataSpec | MethodSpec] = [*self.data, *self.methods]
        alike = [f"training.{key}" for key, value in vars(self.budget).items() if value]
        for label, word in ((part.label, word) for part in parts for word in part.words):
            key, _ = parse_override(word)
            refusal = f"'{label}' sets {key}, which [budget] sets for every run: move it from there to overrides"
            require(key not in alike, refusal)
        n_folds, n_first = len(self.folds.used), self.search.prune_after
        is_early = self.search.pruning == "none" or n_first < n_folds
        complaint = f"search.prune_after must be below the number of folds, {n_folds}, to save anything; got {n_first}"
        require(is_early, complaint)

    @property
    def varied(self) -> tuple[str, ...]:
        """The settings in which methods differ on purpose; where they are ranked, only what is compared may differ."""
        if self.kind == "ranking":
            return ()
        return tuple(dict.fromkeys(key for method in self.methods for key in method.overrides))

    @property
    def repeat_seeds(self) -> tuple[int, ...]:
        """The seeds of the final runs, none of which the search has seen; in waves, as many as a method can get."""
        n = self.repeats if self.until_settled is None else self.until_settled.limit
        return tuple(range(self.seed + 1, self.seed + 1 + n))

    @property
    def seed_procedure(self) -> SeedProcedure | None:
        """How seeds are added in waves; None where every method has the same number of repeats."""
        if self.until_settled is None:
            return None
        return SeedProcedure(plan=self.until_settled, metric=self.selection.metric, first_seed=self.seed + 1)


def study_hash(study: StudySpec) -> str:
    """Return the study's name in folders and stores: a hash of everything that decides its results."""
    left_out = ("name", "question", "kind", "follows", "differs", "repeats")
    return hash_of({key: value for key, value in to_plain(study).items() if key not in left_out})


@dataclass(frozen=True, kw_only=True)
class StudyJob:
    """One method on one data set within a study, and the runs it asks for."""

    study: StudySpec
    data: DataSpec
    method: MethodSpec

    @property
    def label(self) -> str:
        return f"{self.data.label}/{self.method.label}"

    def spec(
        self,
        *,
        seed: int,
        fold: int | None = None,
        settings: Mapping[str, Value] | None = None,
        test: bool,
        unsaid: str | None = None,
    ) -> RunSpec:
        """Return one run of the job, by default of its first fold; without `test`, the test split stays sealed."""
        study, folds = self.study, self.study.folds
        words = (*study.overrides, *self.data.words, *self.method.words)
        overrides = dict(parse_override(word.replace("{data}", self.data.label)) for word in words)
        overrides |= {f"training.{key}": value for key, value in vars(study.budget).items() if value}
        if folds.n > 1 or folds.split:
            overrides |= {"split": folds.split} if folds.split else {}
            overrides |= {"split.fold": folds.used[0] if fold is None else fold, "split.n_folds": folds.n}
        overrides |= {**(settings or {}), "seed": seed}
        protocol = self.data.protocol or study.protocol
        spec = load_run(protocol=protocol, overrides=overrides, unsaid=unsaid)
        if study.settings:
            kept = {word.partition("=")[0] for word in (*study.overrides, *self.data.words)} | {*(settings or ())}
            read = {key: value for key, value in room.settings_as(study.settings, spec).items() if key not in kept}
            spec = load_run(protocol=protocol, overrides=overrides | read, unsaid=unsaid)
        if test:
            return spec
        # A protocol that selects on the test split has no other split to be judged on.
        why = f"protocol {spec.protocol} selects on the test split, so nothing can be searched under it"
        require(spec.evaluation.select_on == "validation", f"{self.label}: {why}")
        return replace(spec, evaluation=replace(spec.evaluation, test=False, watch_test=False))

    def _searched(self) -> RunSpec:
        """Return a run of the search as the method's own overrides and defaults have it."""
        return self.spec(seed=self.study.seed, test=False, unsaid=UNSAID)

    def ranges(self) -> dict[str, Range]:
        """Return the ranges searched, by dotted setting, in a fixed order."""
        search, spec = self.study.search, self._searched()
        here = self.data.ranges.get(self.method.label, {})
        found = {**(_tunable(spec) if search.space == "tunable" else {}), **search.ranges, **self.method.ranges, **here}
        units = {key: spec.value_of(f"{key}_unit") for key in found}
        return {key: range_for(key, span, units[key]) for key, span in sorted(found.items()) if span is not None}

    def defaults(self) -> dict[str, Value]:
        """Return the searched settings as the method itself has them, but for those that are outside their ranges."""
        spec = self._searched()
        found = {key: (span, spec.value_of(key)) for key, span in self.ranges().items()}
        return {key: value for key, (span, value) in found.items() if contains(span, value)}

    def search_procedure(self) -> SearchProcedure | None:
        """Return how the settings are searched; None where the overrides have them."""
        study, search = self.study, self.study.search
        if not search.trials:
            return None
        how: dict[str, Any] = {key: getattr(search, key) for key in ("sampler", "startup", "defaults_first", "pruning")}
        how |= {"n_folds": study.folds.n, "folds": study.folds.used, **vars(study.selection)}
        return SearchProcedure(trials=self.n_trials(), ranges=self.ranges(), **how)

    def n_trials(self) -> int:
        """Return how many trials the job has: the study's, a grid's, or one where there is nothing to search."""
        search, ranges = self.study.search, self.ranges()
        if not ranges:
            return min(search.trials, 1)
        return len(room.grid_of(ranges, search.trials)) if search.sampler == "grid" and search.trials else search.trials


def jobs_of(study: StudySpec) -> list[StudyJob]:
    pairs = [(data, method) for data in study.data for method in study.methods]
    return [StudyJob(study=study, data=d, method=m) for d, m in pairs if not m.on or d.label in m.on]


def _tunable(spec: RunSpec) -> dict[str, Range]:
    found: dict[str, Range] = {}
    for part in ("loss", "miner", "regulariser"):
        if (component := getattr(spec, part)) is not None:
            ranges = declared(ROOM_OF[part], component.name, "tunable", {})
            found |= {f"{part}.{key}": span for key, span in ranges.items()}
    if declared("losses", spec.loss.name, "is_learnable", False) and spec.loss.settings.get("learn_beta") is not False:
        found["optimiser.loss_lr"] = LOSS_RATE
    return found
