"""Where the methods of a race stand: every score by seed, how far each came, and what it cost.

The order is that of a race: whoever was trained longer comes first, then the better mean on the validation split.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean

from fairground.records.record import RunRecord, SplitName
from fairground.spec.metric_words import goodness
from fairground.statistics.compare import compare_values
from fairground.statistics.intervals import Interval
from fairground.statistics.mean_interval import mean_interval

Values = dict[int, float]


@dataclass(frozen=True, kw_only=True)
class MethodStanding:
    """One method: its runs, what they scored by seed, and how many epochs the longest of them trained."""

    label: str
    runs: tuple[RunRecord, ...]
    validation: Values
    test: Values
    epochs: int
    is_full: bool
    higher_is_better: bool = True

    @property
    def mean(self) -> float:
        """The mean on the validation split over the seeds."""
        return fmean(self.validation.values())

    @property
    def goodness(self) -> float:
        """The mean turned so that more is better."""
        return goodness(self.mean, self.higher_is_better)

    @property
    def seconds(self) -> float:
        """What a run of it took."""
        return fmean(run.provenance.wall_seconds for run in self.runs)

    @property
    def memory(self) -> int:
        """The most memory a run of it took, in bytes."""
        return max(run.provenance.peak_memory_bytes for run in self.runs)

    def best_run(self, metric: str) -> RunRecord:
        """Return the run with the best validation score, the first of equals."""

        def key(run: RunRecord) -> float:
            score = run.score(metric, "validation")
            return -inf if score is None else goodness(score, self.higher_is_better)

        return max(self.runs, key=key)


def standings_of(
    records: Iterable[RunRecord], *, labels: Mapping[str, str], metric: str, epochs: int
) -> list[MethodStanding]:
    """Return the standings of all methods with a score, best first; `labels` names the method of each run.

    Of a method only the runs that were trained longest count: shorter ones were stopped by the race, and a mean over
    runs of different lengths would mean nothing.
    """
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        if record.state in ("done", "pruned") and record.score(metric, "validation") is not None:
            groups.setdefault(labels[record.name], []).append(record)
    found = []
    for label, runs in groups.items():
        longest = max(reached(run) for run in runs)
        kept = tuple(sorted((run for run in runs if reached(run) == longest), key=_seed))
        found.append(
            MethodStanding(
                label=label,
                runs=kept,
                validation=_by_seed(kept, metric, "validation"),
                test=_by_seed(kept, metric, "test"),
                epochs=longest,
                is_full=longest >= epochs,
                higher_is_better=kept[0].higher_is_better(metric) is not False,
            )
        )
    return sorted(found, key=lambda standing: (-standing.epochs, -standing.goodness))


def intervals_of(standings: Sequence[MethodStanding], split: SplitName) -> dict[str, Interval]:
    """Return each method's mean with its interval over seeds; those trained alike long are compared with each other."""
    found: dict[str, Interval] = {}
    for epochs in {standing.epochs for standing in standings}:
        alike = [standing for standing in standings if standing.epochs == epochs]
        values = {one.label: some for one in alike if (some := one.validation if split == "validation" else one.test)}
        comparison = compare_values(values, higher_is_better=alike[0].higher_is_better) if values else None
        for label in values:
            interval = None if comparison is None else mean_interval(comparison, label)
            found |= {} if interval is None else {label: interval}
    return found


def reached(record: RunRecord) -> int:
    """Return the last epoch a run has trained."""
    return max((row.epoch for row in record.epochs), default=0)


def _seed(record: RunRecord) -> int:
    seed = record.spec["seed"]
    assert isinstance(seed, int)
    return seed


def _by_seed(runs: Iterable[RunRecord], metric: str, split: SplitName) -> Values:
    found = {_seed(run): run.score(metric, split) for run in runs}
    return {seed: value for seed, value in found.items() if value is not None}
