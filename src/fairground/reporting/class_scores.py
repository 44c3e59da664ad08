"""What runs scored on each test class, read from the files they left: the evidence for classes never seen.

A method's score on a class, for one seed, is the mean over its folds. Classes count by their queries, as in the scores
of records; a metric whose score cannot be had that way (clustering, verification) has no scores by class.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairground.comparison.generality import Generality, generality_of
from fairground.comparison.run_scores import fold_groups, seed_of
from fairground.errors import FairgroundError, require
from fairground.records.arrays import array_names, read_arrays
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder
from fairground.reporting.methods import Method
from fairground.reporting.run_set import leave_out

#: how far a weighted mean of class scores may be from the record's score
_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class PerClassScores:
    """Each method's mean on every class by seed, and how much each class counts; `missing` says why there are none."""

    values: Mapping[str, Mapping[int, np.ndarray]]
    weights: np.ndarray
    missing: str = ""

    def generality(self, *, level: float, margin: float | None, is_higher: bool) -> Generality:
        """Return the methods compared over seeds, over classes and over both."""
        require(not self.missing, f"nothing can be said of other test classes: {self.missing}")
        return generality_of(
            self.values, weights=self.weights.tolist(), level=level, margin=margin, higher_is_better=is_higher
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassScores:
    """Runs, folds not yet averaged, and their folders by run."""

    records: tuple[RunRecord, ...]
    folders: Mapping[str, RunFolder]

    @cached_property
    def _groups(self) -> dict[str, list[RunRecord]]:
        return fold_groups(self.records)

    def of(self, metric: str, methods: Iterable[Method]) -> PerClassScores:
        """Return the scores of all methods by class, or why they cannot be had."""
        values: dict[str, dict[int, np.ndarray]] = {}
        sizes: list[np.ndarray] = []
        for method in methods:
            by_seed: dict[int, list[np.ndarray]] = {}
            for record in self._groups.get(method.key, ()):
                if record.state != "done":
                    continue
                found = self._read(record, metric)
                if isinstance(found, str):
                    return PerClassScores(values={}, weights=np.empty(0), missing=found)
                by_seed.setdefault(seed_of(record), []).append(found[0])
                sizes.append(found[1])
            if by_seed:
                values[method.label] = {seed: np.mean(some, axis=0) for seed, some in by_seed.items()}
        return _on_same_classes(values, sizes, metric)

    def _read(self, record: RunRecord, metric: str) -> tuple[np.ndarray, np.ndarray] | str:
        """Return a run's means by class and what each class counts, or why it has none."""
        folder, score = self.folders.get(record.name), record.score(metric)
        if folder is None or not folder.queries.is_file():
            return f"run {record.name} kept no scores by query"
        names = ["class_sizes", f"per_class/{metric}"]
        try:
            lacking = [name for name in names if name not in array_names(folder.queries)]
            if lacking:
                return f"run {record.name} has no {' and no '.join(lacking)} in {folder.queries.name}"
            arrays = read_arrays(folder.queries, names)
        except FairgroundError as error:
            leave_out(error)
            return str(error)
        sizes, means = (arrays[name].astype(float) for name in names)
        if sizes.shape != means.shape or sizes.sum() <= 0:
            return f"run {record.name} has no score by class of {metric}"
        means = np.where(sizes > 0, means, 0.0)
        for weights in (sizes, (sizes > 0).astype(float)):
            # Averaged over queries or over classes, whichever the record's score is.
            if score is not None and abs(float(means @ weights / weights.sum()) - score) <= _ROUNDING:
                return means, weights
        return f"the score of run {record.name} is no mean over its queries"


def _on_same_classes(
    values: Mapping[str, Mapping[int, np.ndarray]], sizes: list[np.ndarray], metric: str
) -> PerClassScores:
    missing = ""
    if not sizes:
        missing = "no run has finished"
    elif any(one.shape != sizes[0].shape or not np.array_equal(one, sizes[0]) for one in sizes):
        missing = "the runs were not tested on the same queries of the same classes"
    elif (sizes[0] > 0).sum() < 2:
        missing = f"{metric} is of one test class alone"
    elif max(len(by) for by in values.values()) < 2:
        missing = "no method has two runs"
    if missing:
        return PerClassScores(values={}, weights=np.empty(0), missing=missing)
    kept = sizes[0] > 0
    return PerClassScores(
        values={label: {seed: x[kept] for seed, x in by.items()} for label, by in values.items()},
        weights=sizes[0][kept],
    )
