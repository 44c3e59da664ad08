"""Records grouped into methods: what each is called, what they share, and in what they differ."""

from collections import Counter
from collections.abc import Collection, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fairground.comparison.run_scores import seed_of
from fairground.records.record import RunRecord, SplitName
from fairground.spec.identity import differing, flatten


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method: the runs that differ in nothing but their seed. `differences` says what sets it apart here."""

    key: str
    label: str
    records: tuple[RunRecord, ...]
    differences: Mapping[str, str]

    @cached_property
    def done(self) -> tuple[RunRecord, ...]:
        """The runs that finished."""
        return tuple(record for record in self.records if record.state == "done")

    @property
    def scored(self) -> KeysView[tuple[str, SplitName]]:
        """The metrics, each with its split, that any finished run has, in the order they are met."""
        return self._scores.keys()

    def values(self, metric: str, split: SplitName) -> list[float]:
        """Return the metric of every finished run that has it."""
        return [value for _, value in self._scores.get((metric, split), ())]

    def by_seed(self, metric: str, split: SplitName) -> dict[int, float]:
        """Return the metric of every finished run that has it by seed; runs that share a seed are averaged."""
        scored = self._scores.get((metric, split), [])
        if len(one_each := dict(scored)) == len(scored):
            return dict(sorted(one_each.items()))
        found: dict[int, list[float]] = {}
        for seed, value in scored:
            found.setdefault(seed, []).append(value)
        return {seed: sum(some) / len(some) for seed, some in sorted(found.items())}

    def rows(self, metrics: Sequence[str], split: SplitName) -> list[tuple[float, ...]]:
        """Return the scores of every finished run that has all of the metrics."""
        columns = [self.values(metric, split) for metric in metrics]
        if all(len(column) == len(self.done) for column in columns):
            return list(zip(*columns, strict=True))
        rows = [tuple(run.score(metric, split) for metric in metrics) for run in self.done]
        return [tuple(score for score in row if score is not None) for row in rows if None not in row]

    @cached_property
    def _scores(self) -> dict[tuple[str, SplitName], list[tuple[int, float]]]:
        """Seed and score of the finished runs: one look at each of many runs, because every figure asks again."""
        found: dict[tuple[str, SplitName], list[tuple[int, float]]] = {}
        for record in self.done:
            seed = seed_of(record)
            for key, value in record.values().items():
                found.setdefault(key, []).append((seed, value))
        return found


def methods_of(records: Iterable[RunRecord], names: Mapping[str, str] | None = None) -> list[Method]:
    """Group records by method in the order of first appearance; `names` may say what to call a method's hash."""
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(record.method, []).append(record)
    flat = {key: flatten(group[0].spec) for key, group in groups.items()}
    varying = differing(flat.values())
    labels = _with_hashes(_labels(flat) | {key: name for key, name in (names or {}).items() if key in groups})
    return [
        Method(
            key=key,
            label=labels[key],
            records=tuple(sorted(group, key=lambda record: (seed_of(record), record.name))),
            differences={name: flat[key][name] for name in varying if name in flat[key] and _is_news(name, flat[key])},
        )
        for key, group in groups.items()
    ]


def _is_news(name: str, spec: Mapping[str, str]) -> bool:
    """Tell whether a reader wants to know a setting: a known bug of other code that is off is none of this method."""
    return not (name.endswith("_bug") and spec[name] == "false")


def _labels(flat: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Call a method by its loss, then by the other parts that vary, then by the settings that still tell it apart.

    A network that is not trained is called by its name: no loss made it what it is.
    """
    frozen = {key: spec for key, spec in flat.items() if spec.get("training.epochs") == "0"}
    trained = {key: spec for key, spec in flat.items() if key not in frozen}
    labels = {
        **_by_parts(trained, first="loss"),
        **{key: f"frozen {label}" for key, label in _by_parts(frozen, first="trunk", among=("head",)).items()},
    }
    alike: dict[str, list[str]] = {}
    for key in flat:
        alike.setdefault(labels[key], []).append(key)
    for label, keys in alike.items():
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


def _with_hashes(labels: Mapping[str, str]) -> dict[str, str]:
    """Add the hash to names that two methods were given: everything about a method is found by its name."""
    given = Counter(labels.values())
    return {key: label if given[label] == 1 else f"{label} ({key})" for key, label in labels.items()}
