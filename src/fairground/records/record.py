"""The record of one run: its spec, scores, epochs and provenance. Notes are for people; no code reads them back."""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from fairground import spec as specs
from fairground.files import parse_json, read_with_digest
from fairground.spec import StoreError, canonical_json, declared_metric, to_plain

RECORD_VERSION = 4
State = Literal["done", "diverged", "failed"]
SplitName = Literal["train", "validation", "test"]
_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


@dataclass(frozen=True, kw_only=True)
class EpochRow:
    """One epoch: its mean training loss and, if it validated, the scores. Epoch 0 is before training.

    `test` holds test scores measured per epoch (`evaluation.watch_test`), `train` rho and pi of the training split
    (`training.analyse_every`); neither is ever used for selection.
    """

    epoch: int
    step: int
    loss: float | None
    validation: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    images_per_second: float = 0.0
    test: Mapping[str, float] = field(default_factory=dict)
    train: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Score:
    """One value of a metric on a split. `higher_is_better` is None if the direction is unknown."""

    metric: str
    split: SplitName
    value: float
    higher_is_better: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The metric and split that selected the epoch; with `is_best_of_each` every metric selects its own."""

    split: SplitName
    metric: str
    is_best_of_each: bool = False


@dataclass(frozen=True, kw_only=True)
class KnownBug:
    """A bug of published code, reproduced on purpose."""

    component: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class PretrainedWeights:
    """Pretrained weights: their name in the spec and the hash of their content."""

    name: str
    hash: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the training doctor found: which sign, when first, the evidence, and the remedy."""

    sign: str
    epoch: int
    step: int
    sentence: str
    remedy: str

    @property
    def text(self) -> str:
        return f"{self.sign} (epoch {self.epoch}, step {self.step}): {self.sentence}. Try: {self.remedy}."


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Code, packages, machine, data, time and memory of a run; `device_details` are its model, driver and libraries."""

    fairground: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    hardware: str = ""
    threads: int = 0
    data_fingerprint: str = ""
    split_fingerprint: str = ""
    started: str = ""
    wall_seconds: float = 0.0
    peak_memory_bytes: int = 0
    cpu_seconds: float = 0.0
    device: str = "cpu"
    device_details: Mapping[str, str] = field(default_factory=dict)
    peak_device_bytes: int = 0

    @property
    def device_text(self) -> str:
        """The device with its model, driver and libraries; empty for a CPU."""
        details = (value if key == "model" else f"{key} {value}" for key, value in self.device_details.items())
        return "" if self.device == "cpu" else ", ".join([self.device, *details])


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The record of one run that ended.

    `findings` are those of the training doctor, each sign at most once. `selection` is None if no score selected the
    epoch, `search` if the settings were given, `seed_procedure` if the number of seeds was fixed. `clustering_seeds` is
    the number of k-means starts per clustering metric; `is_closed_set` says that test classes were trained on.
    `content` is what the spec points at, as `records.changed_code_and_data` hashes it.
    """

    name: str
    method: str
    spec: Mapping[str, Any]
    state: State = "done"
    epochs: tuple[EpochRow, ...] = ()
    best_epoch: int | None = None
    scores: tuple[Score, ...]
    notes: tuple[str, ...] = ()
    failure: str | None = None
    provenance: Provenance
    findings: tuple[Finding, ...] = ()
    selection: Selection | None = None
    search: "specs.SearchProcedure | None" = None
    clustering_seeds: int = 1
    is_closed_set: bool = False
    known_bugs: tuple[KnownBug, ...] = ()
    weights: PretrainedWeights | None = None
    seed_procedure: "specs.SeedProcedure | None" = None
    content: Mapping[str, str] = field(default_factory=dict)
    version: int = RECORD_VERSION

    def __post_init__(self) -> None:
        checks = {
            f"it has version {self.version}; this fairground reads {RECORD_VERSION}": self.version == RECORD_VERSION,
            f"no state '{self.state}'": self.state in get_args(State),
            "a run has a failure exactly if it is not done": (self.failure is None) == (self.state == "done"),
            "a score is not a finite number": all(math.isfinite(score.value) for score in self.scores),
            "a finished run needs scores": self.state != "done" or len(self.scores) > 0,
        }
        for complaint, is_fine in checks.items():
            if not is_fine:
                raise StoreError(f"record {self.name}: {complaint}")
        for score in self.scores:
            metric = None if score.split == "train" else declared_metric(score.metric)
            if metric is not None and not metric.allows(score.value):
                raise StoreError(f"record {self.name}: {score.metric} cannot be {score.value}")

    def score(self, metric: str, split: SplitName = "test") -> float | None:
        return self.values.get((metric, split))

    @cached_property
    def values(self) -> dict[tuple[str, SplitName], float]:
        return {(score.metric, score.split): score.value for score in self.scores}

    @cached_property
    def text_without_seed(self) -> str:
        """The spec without its seed as a text: equal for all repeats of a method, and quick to compare."""
        return repr({**self.spec, "seed": None})

    def higher_is_better(self, metric: str) -> bool | None:
        """Return the direction of a metric: from the run's scores, else from the metric's declaration."""
        stored = next((s.higher_is_better for s in self.scores if s.metric == metric), None)
        declared = declared_metric(metric) if stored is None else None
        return stored if declared is None else declared.higher_is_better

    def setting(self, key: str) -> Any:
        """Return what the run has for a dotted setting, if anything; `loss` is the name of its loss."""
        part, _, inner = key.partition(".")
        return (self.spec.get(part) or {}).get(inner or "name")

    @property
    def is_trial(self) -> bool:
        """Whether the run is a trial of a search: its test split is never opened."""
        return self.setting("evaluation.test") is False

    @property
    def is_imported(self) -> bool:
        """Whether the scores are others', read from a file: nothing of how they were made can be checked."""
        return "imported" in self.spec

    @property
    def is_untrained(self) -> bool:
        return bool(self.setting("training.epochs") == 0)

    def digits(self) -> str:
        """Return everything reproducible about the run as one text: equal texts mean bit-identical runs."""
        rows = [
            {"epoch": r.epoch, "step": r.step, "loss": r.loss, "validation": dict(r.validation)}
            | {split: dict(scores) for split, scores in (("test", r.test), ("train", r.train)) if scores}
            for r in self.epochs
        ]
        scores = [{"metric": s.metric, "split": s.split, "value": s.value} for s in self.scores]
        found = {"spec": dict(self.spec), "state": self.state, "epochs": rows, "scores": scores}
        return canonical_json(found | {"best": self.best_epoch})

    def to_plain(self) -> dict[str, Any]:
        search = None if self.search is None else to_plain(self.search)
        return dataclasses.asdict(replace(self, search=None)) | {"search": search}

    def to_json(self) -> str:
        return canonical_json(self.to_plain())

    @classmethod
    def from_json(cls, text: str | bytes) -> "RunRecord":
        return cls.from_plain(parse_json(text, "the record", error=StoreError))

    @classmethod
    def read(cls, path: Path) -> "RunRecord":
        return cls.from_plain(read_with_digest(path))

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "RunRecord":
        try:
            search, waves, selection, weights = (data[k] for k in ("search", "seed_procedure", "selection", "weights"))
            parts = {
                "spec": dict(data["spec"]),
                "epochs": tuple(EpochRow(**row) for row in data["epochs"]),
                "scores": tuple(Score(**score) for score in data["scores"]),
                "provenance": Provenance(**data["provenance"]),
                "notes": tuple(data["notes"]),
                "findings": tuple(Finding(**finding) for finding in data["findings"]),
                "known_bugs": tuple(KnownBug(**bug) for bug in data["known_bugs"]),
                "selection": selection and Selection(**selection),
                "search": search and specs.SearchProcedure.from_plain(search),
                "seed_procedure": waves and specs.from_plain(specs.SeedProcedure, waves),
                "weights": weights and PretrainedWeights(**weights),
            }
            return cls(**{**data, **parts})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"this is not a fairground record: {error}") from error


def one_of_each_spec(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return one run per spec; specs that differ only in the seed count as one."""
    return list({record.text_without_seed: record for record in records}.values())


def grouped(pairs: Iterable[tuple[_Key, _Item]]) -> dict[_Key, list[_Item]]:
    """Return the items of every key, in the order of first appearance."""
    found: defaultdict[_Key, list[_Item]] = defaultdict(list)
    for key, item in pairs:
        found[key].append(item)
    return dict(found)
