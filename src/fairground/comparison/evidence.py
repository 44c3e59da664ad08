"""What the guard looks at, and what it finds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fairground.comparison.comparison_result import Comparison
from fairground.comparison.run_scores import seed_of
from fairground.records.record import RunRecord, SplitName, one_of_each_spec
from fairground.spec.declarations import declared
from fairground.spec.identity import flatten
from fairground.spec.procedures import SeedProcedure
from fairground.spec.space import Range


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that must agree and does not: by which rule, which setting, each method's value, why it matters."""

    rule: str
    what: str
    values: Mapping[str, str]
    why: str

    def __str__(self) -> str:
        by_value: dict[str, list[str]] = {}
        for label, value in self.values.items():
            by_value.setdefault(value, []).append(label)
        told = "; ".join(f"{value} ({', '.join(labels)})" for value, labels in by_value.items())
        return f"{self.what}: {told}. {self.why}"


@dataclass(frozen=True, kw_only=True)
class Flag:
    """Something a reader must be told: by which flag, about which methods, in a sentence, and why it matters."""

    flag: str
    methods: tuple[str, ...]
    text: str
    why: str

    def __str__(self) -> str:
        return f"{self.text} {self.why}"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The runs of each method under its label, and what is to be concluded from them.

    `claims` are pairs (better, worse) that somebody is about to assert. `ranges` are the ranges that were searched, by
    part, component and setting (`loss.triplet.margin`) or by setting alone (`optimiser.loss_lr`). `comparison` is the
    one that readers see, where it has been made.
    """

    methods: Mapping[str, tuple[RunRecord, ...]]
    metric: str
    split: SplitName = "test"
    claims: tuple[tuple[str, str], ...] = ()
    ranges: Mapping[str, Range] = field(default_factory=dict)
    comparison: Comparison | None = None

    @cached_property
    def done(self) -> Mapping[str, tuple[RunRecord, ...]]:
        """The finished runs of each method."""
        return {label: tuple(r for r in runs if r.state == "done") for label, runs in self.methods.items()}

    @cached_property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        """Each method's spec laid flat; where its own runs disagree, all their values."""
        return {
            label: _merged([flatten(run.spec) for run in one_of_each_spec(runs)])
            for label, runs in self.methods.items()
        }

    @cached_property
    def untrained(self) -> frozenset[str]:
        """The methods that train nothing: networks measured with the weights they start with."""
        return frozenset(label for label, runs in self.methods.items() if all(run.is_untrained for run in runs))

    @cached_property
    def seed_procedures(self) -> Mapping[str, frozenset[SeedProcedure | None]]:
        """How the seeds of each method's runs were found."""
        return {label: frozenset(run.seed_procedure for run in runs) for label, runs in self.methods.items()}

    def values(self, label: str, metric: str | None = None) -> dict[int, float]:
        """Return a method's metric by seed; runs that share a seed are averaged."""
        found: dict[int, list[float]] = {}
        for record in self.done[label]:
            value = record.score(metric or self.metric, self.split)
            if value is not None:
                found.setdefault(seed_of(record), []).append(value)
        return {seed: sum(some) / len(some) for seed, some in sorted(found.items())}


def is_any_other(values: Iterable[object]) -> bool:
    """Tell whether not all values are the same, of values that need not be hashable."""
    first, *further = [*values] or [None]
    return further.count(first) < len(further)


def is_under(key: str, owners: Iterable[str]) -> bool:
    """Tell whether a dotted setting is one of `owners` or lies below one; everything lies below an empty one."""
    return any(owner in ("", key) or key.startswith(f"{owner}.") for owner in owners)


def is_measured_raw(record: RunRecord) -> bool:
    """Tell whether a run's embeddings were measured as they come: as it says, else as its loss compares them."""
    evaluation, loss = record.spec.get("evaluation"), record.spec.get("loss")
    said = evaluation.get("normalise") if isinstance(evaluation, Mapping) else None
    if said is not None:
        return said is False
    if not isinstance(loss, Mapping) or loss.get("normalise") is True:
        return False
    return declared("losses", str(loss.get("name")), "on_sphere", True) is False


def _merged(specs: list[dict[str, str]]) -> dict[str, str]:
    keys = dict.fromkeys(key for spec in specs for key in spec)
    return {key: " or ".join(sorted({spec.get(key, "none") for spec in specs})) for key in keys}
