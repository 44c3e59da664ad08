"""What a run left behind: frozen, self-validating, versioned, and carrying its whole spec.

What the program must know of a run is a field; notes are sentences for people, and nothing reads them back.
`digits` is the part that must be the same whenever the same spec runs on the same machine; time and memory are not.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

from fairground.errors import StoreError, require
from fairground.files import parse_json
from fairground.records.older_versions import upgraded
from fairground.spec.identity import canonical_json, text_without_seed
from fairground.spec.measurement_names import declared_metric
from fairground.spec.procedures import SearchProcedure, SeedProcedure
from fairground.spec.settings import Value

#: 2 added findings; 3 added selection, search, clustering seeds, closed set, known bugs, weights and directions;
#: 4 added the seed procedure
RECORD_VERSION = 4
State = Literal["done", "diverged", "failed", "pruned"]
SplitName = Literal["train", "validation", "test"]
_STATES = get_args(State)


@dataclass(frozen=True, kw_only=True)
class EpochRow:
    """One epoch: mean training loss over its batches and, when it validated, the scores. Epoch 0 is untrained.

    `test` holds the scores of a test split that was watched (`evaluation.watch_test`); they selected nothing.
    """

    epoch: int
    step: int
    loss: float | None
    validation: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    images_per_second: float = 0.0
    test: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Score:
    """One number: which metric, of which split. `higher_is_better` is None where nobody says which way is better."""

    metric: str
    split: SplitName
    value: float
    higher_is_better: bool | None = None


#: what a record is read into
Part = TypeVar("Part", "EpochRow", "Score", "Provenance", "RunRecord")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which metric of which split chose the epoch; `is_best_of_each` lets every metric choose its own."""

    split: SplitName
    metric: str
    is_best_of_each: bool = False


@dataclass(frozen=True, kw_only=True)
class KnownBug:
    """A bug of published code that was reproduced on purpose: in which component, and what it does."""

    component: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class PretrainedWeights:
    """The weights a network began with: their name in the spec, and the hash of their content."""

    name: str
    hash: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the training doctor noticed: which sign, when first seen, what was seen, and what to do about it."""

    sign: str
    epoch: int
    step: int
    sentence: str
    remedy: str

    @property
    def text(self) -> str:
        """The finding as one line for a person."""
        return f"{self.sign} (epoch {self.epoch}, step {self.step}): {self.sentence}. Try: {self.remedy}."


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the numbers come from: code, packages, machine, threads, data, time and memory.

    `cpu_seconds` are those of all threads, and hardly depend on what else the machine does; 0 where nobody counted.
    """

    fairground: str
    packages: Mapping[str, str]
    hardware: str
    threads: int
    data_fingerprint: str
    split_fingerprint: str
    started: str
    wall_seconds: float
    peak_memory_bytes: int
    cpu_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One finished run. `notes` are sentences for people: what was left out, what to bear in mind.

    `findings` are those of the training doctor, each sign once at most. `selection` is None where no score chose;
    `search` says how the settings were found, None where they were given; `seed_procedure` how seeds were added to its
    method, None where the number was fixed. `clustering_seeds` is how often k-means was started for each clustering
    metric, `is_closed_set` that test classes were trained on.
    """

    name: str
    method: str
    spec: Mapping[str, Value]
    state: State
    epochs: tuple[EpochRow, ...]
    best_epoch: int | None
    scores: tuple[Score, ...]
    notes: tuple[str, ...]
    failure: str | None
    provenance: Provenance
    findings: tuple[Finding, ...] = ()
    selection: Selection | None = None
    search: SearchProcedure | None = None
    clustering_seeds: int = 1
    is_closed_set: bool = False
    known_bugs: tuple[KnownBug, ...] = ()
    weights: PretrainedWeights | None = None
    seed_procedure: SeedProcedure | None = None
    version: int = RECORD_VERSION

    def __post_init__(self) -> None:
        _refuse_newer(self.name, self.version)
        complaint = self._complaint()
        require(complaint is None, f"record {self.name}: {complaint}", StoreError)

    def _complaint(self) -> str | None:
        """Return what is wrong with the record, if anything."""
        epochs = [row.epoch for row in self.epochs]
        tables = {type(scores) for row in self.epochs for scores in (row.validation, row.test)}
        signs = [finding.sign for finding in self.findings]
        if self.state not in _STATES:
            return f"no state '{self.state}'"
        if (self.failure is None) != (self.state == "done"):
            return "a failure is told exactly when the run is not done"
        if not all(map(math.isfinite, [score.value for score in self.scores])):
            return "a score is not a finite number"
        if epochs != sorted(set(epochs)):
            return "epochs out of order"
        if not all(issubclass(kind, Mapping) for kind in tables):
            return _no_table(self.epochs)
        if self.state == "done" and not self.scores:
            return "a finished run needs scores"
        if self.clustering_seeds < 1:
            return "clustering needs a seed"
        return "a sign is found once at most" if len(set(signs)) < len(signs) else None

    def score(self, metric: str, split: SplitName = "test") -> float | None:
        """Return one score, or None when the run has none of that name."""
        return self._values.get((metric, split))

    def values(self) -> dict[tuple[str, SplitName], float]:
        """Return every score by metric and split, in the order of the scores; of two of a name the first counts."""
        found = {(score.metric, score.split): score.value for score in self.scores}
        if len(found) < len(self.scores):
            found |= {(score.metric, score.split): score.value for score in reversed(self.scores)}
        return found

    @cached_property
    def _values(self) -> dict[tuple[str, SplitName], float]:
        return self.values()

    @cached_property
    def text_without_seed(self) -> bytes:
        """The spec but for its seed as bytes: of all repeats of a method the same, and quicker to compare."""
        return text_without_seed(self.spec)

    def higher_is_better(self, metric: str) -> bool | None:
        """Return which way a metric is better: as the run's scores say, else as the metric declares."""
        said = next((s.higher_is_better for s in self.scores if s.metric == metric), None)
        declared = declared_metric(metric) if said is None else None
        return said if declared is None else declared.higher_is_better

    @property
    def is_trial(self) -> bool:
        """Whether the run belongs to a search: its test split stays sealed for good."""
        evaluation = self.spec.get("evaluation")
        return isinstance(evaluation, Mapping) and evaluation.get("test") is False

    @property
    def is_untrained(self) -> bool:
        """Whether nothing was trained: the network is measured with the weights it starts with."""
        training = self.spec.get("training")
        return isinstance(training, Mapping) and training.get("epochs") == 0

    def digits(self) -> str:
        """Return everything reproducible about the run as one text: equal texts, equal runs."""
        rows = [
            {"epoch": r.epoch, "step": r.step, "loss": r.loss, "validation": dict(r.validation)}
            | ({"test": dict(r.test)} if r.test else {})
            for r in self.epochs
        ]
        scores = [{"metric": s.metric, "split": s.split, "value": s.value} for s in self.scores]
        return canonical_json(
            {"spec": dict(self.spec), "state": self.state, "epochs": rows, "scores": scores, "best": self.best_epoch}
        )

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        search = None if self.search is None else self.search.to_plain()
        return canonical_json(dataclasses.asdict(replace(self, search=None)) | {"search": search})

    @classmethod
    def from_json(cls, text: str) -> "RunRecord":
        """Read a record back, refusing what is not one."""
        try:
            data = parse_json(text, "the record", error=StoreError)
            require(isinstance(data["spec"], dict), "the record has no spec", StoreError)
            _refuse_newer(data["name"], data["version"])
            if data["version"] < RECORD_VERSION:
                data = upgraded(data, version=RECORD_VERSION)
            data["epochs"] = _all_made(EpochRow, data["epochs"])
            data["scores"] = _all_made(Score, data["scores"])
            (data["provenance"],) = _all_made(Provenance, [data["provenance"]])
            data["notes"] = tuple(data["notes"])
            data["findings"] = tuple(Finding(**finding) for finding in data["findings"])
            data["known_bugs"] = tuple(KnownBug(**bug) for bug in data["known_bugs"])
            data["selection"] = None if data["selection"] is None else Selection(**data["selection"])
            data["search"] = None if data["search"] is None else SearchProcedure.from_plain(data["search"])
            waves = data["seed_procedure"]
            data["seed_procedure"] = None if waves is None else SeedProcedure.from_plain(waves)
            data["weights"] = None if data["weights"] is None else PretrainedWeights(**data["weights"])
            (record,) = _all_made(cls, [data])
            record.__post_init__()
            return record
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise StoreError(f"this is not a fairground record: {error}") from error


def one_of_each_spec(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return a run of every spec, of specs that differ in the seed alone one: what a spec says it says for all."""
    return list({record.text_without_seed: record for record in records}.values())


def _no_table(epochs: Iterable[EpochRow]) -> str:
    found = ((split, getattr(row, split)) for row in epochs for split in ("validation", "test"))
    split, scores = next((split, scores) for split, scores in found if not isinstance(scores, Mapping))
    return f"scores of an epoch are no table of metrics: {split} is {scores!r}"


def _all_made(kind: type[Part], rows: Iterable[dict[str, Any]]) -> tuple[Part, ...]:
    """Return `kind(**row)` of each, in a fifth of the time where no field is missing: a store has thousands of rows."""
    names, make, put = kind.__dataclass_fields__.keys(), object.__new__, object.__setattr__
    found = []
    for row in rows:
        if row.keys() == names:
            made = make(kind)
            # Past the frozen class' own `__setattr__`, all fields at once.
            put(made, "__dict__", row)
        else:
            made = kind(**row)
        found.append(made)
    return tuple(found)


def _refuse_newer(name: str, version: int) -> None:
    """A newer record may have fields this version does not know: it must be told from a damaged one."""
    require(
        version <= RECORD_VERSION,
        f"record {name} was written by a newer fairground (record version {version}; this one reads {RECORD_VERSION})",
        StoreError,
    )
