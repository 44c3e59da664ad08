"""Methods: runs that differ in their seed alone, and what tables and figures call them.

A name is the loss, other parts that vary, then settings that tell methods apart.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, pstdev

from fairground import reporting
from fairground.comparison import seed_of
from fairground.records import RunRecord, SplitName, grouped
from fairground.spec import differing, flatten


@dataclass(frozen=True, kw_only=True)
class Method:
    """Runs that differ in their seed alone; `differences` set the method apart; as a row of a table it has `cells`."""

    key: str
    label: str
    records: tuple[RunRecord, ...]
    settings: Mapping[str, str]
    differences: Mapping[str, str]
    cells: "Mapping[str, reporting.TableCell]" = field(default_factory=dict)

    @cached_property
    def done(self) -> tuple[RunRecord, ...]:
        return tuple(record for record in self.records if record.state == "done")

    @cached_property
    def seeds(self) -> list[int]:
        return list(map(seed_of, self.done))

    @cached_property
    def scored(self) -> list[tuple[str, SplitName]]:
        """The metrics, each with its split, that any finished run has, in order of appearance."""
        return list(dict.fromkeys(key for record in self.done for key in record.values))

    @property
    def n_done(self) -> int:
        return len(self.done)

    @property
    def n_runs(self) -> int:
        return len(self.records)

    @cached_property
    def best_epochs(self) -> list[int]:
        """The epochs selected in the method's trained runs; runs averaged over folds may have none."""
        return [run.best_epoch for run in self.done if run.best_epoch is not None and not run.is_untrained]

    @property
    def shown_epoch(self) -> str:
        """The mean and population deviation of the best epochs, as Roth's column Max. Epoch."""
        epochs = self.best_epochs
        return f"{fmean(epochs):.1f} ± {pstdev(epochs):.1f}" if len(epochs) > 1 else "".join(map(str, epochs))

    def values(self, metric: str, split: SplitName) -> list[float]:
        return [value for record in self.done if (value := record.values.get((metric, split))) is not None]

    def by_seed(self, metric: str, split: SplitName) -> dict[int, float]:
        """Return the metric of every finished run that has it by seed; runs that share a seed are averaged."""
        scores = zip(self.seeds, [record.values.get((metric, split)) for record in self.done], strict=True)
        found = grouped((seed, value) for seed, value in scores if value is not None)
        return {seed: sum(some) / len(some) for seed, some in found.items()}


def methods_of(records: Iterable[RunRecord], names: Mapping[str, str] | None = None) -> list[Method]:
    """Group records by method in the order of first appearance; `names` are names by hash."""
    groups = grouped((record.method, record) for record in records)
    flat = {key: flatten(group[0].spec) for key, group in groups.items()}
    varying = differing(flat.values())
    labels = labels_of(flat) | {key: name for key, name in (names or {}).items() if key in groups}
    n_called = Counter(labels.values())
    return [
        Method(
            key=key,
            # Methods are looked up by name: one that two share gets its hash.
            label=labels[key] if n_called[labels[key]] == 1 else f"{labels[key]} ({key})",
            records=tuple(sorted(group, key=lambda record: (seed_of(record), record.name))),
            settings=flat[key],
            # A published bug that is switched off is not worth showing.
            differences={
                name: value
                for name in varying
                if (value := flat[key].get(name)) is not None and not (name.endswith("_bug") and value == "false")
            },
        )
        for key, group in groups.items()
    ]


def labels_of(flat: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the name of each method by its flat settings; an untrained one is named by its trunk."""
    frozen = {key: spec for key, spec in flat.items() if spec.get("training.epochs") == "0"}
    trained = {key: spec for key, spec in flat.items() if key not in frozen}
    labels = _by_parts(trained, first="loss")
    labels |= {key: f"frozen {label}" for key, label in _by_parts(frozen, first="trunk", among=("head",)).items()}
    for label, keys in grouped((labels[key], key) for key in flat).items():
        varying = differing(flat[key] for key in keys) if len(keys) > 1 else []
        for key in keys if varying else []:
            settings = [f"{name}={flat[key].get(name, 'none')}" for name in varying]
            labels[key] = f"{label}, {', '.join(settings)}"
    return labels


def _by_parts(
    flat: Mapping[str, Mapping[str, str]], *, first: str, among: Collection[str] | None = None
) -> dict[str, str]:
    """Return the name of one part and of the others that vary, of all or `among` some."""
    varying = [key for key in differing(flat.values()) if "." not in key and key != first]
    parts = [key for key in varying if among is None or key in among]
    return {
        key: " + ".join([spec.get(first, key), *(spec[part] for part in parts if spec.get(part, "none") != "none")])
        for key, spec in flat.items()
    }
