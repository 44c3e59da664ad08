"""Scores per test class, from the files of runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fairground.comparison import Generality, InputError, fold_groups, generality_of, require, seed_of
from fairground.records import RunFolder, RunRecord, grouped
from fairground.reporting import Method, arrays_in

#: largest deviation of a weighted mean of class scores from the record's score
_ROUNDING = 1e-6


class ClassScores(NamedTuple):
    """Scores per test class, from the files of runs whose folds are not yet averaged.

    A method's score on a class, for one seed, is the mean over its folds. Classes are weighted by their queries, as in
    the scores of records; a metric that is not such a mean (clustering, verification) has no scores per class.
    """

    records: tuple[RunRecord, ...]
    folders: Mapping[str, RunFolder]

    def generality(
        self, metric: str, methods: Iterable[Method], *, level: float, margin: float | None, is_higher: bool
    ) -> Generality:
        """Return the methods compared over seeds, over classes and over both; refused where scores are missing."""
        try:
            values, weights = self.read(metric, methods)
        except InputError as error:
            raise InputError(f"no comparison over test classes: {error}") from error
        return generality_of(values, weights=weights, level=level, margin=margin, higher_is_better=is_higher)

    def read(
        self, metric: str, methods: Iterable[Method]
    ) -> tuple[Mapping[str, Mapping[int, np.ndarray]], Sequence[float]]:
        """Return each method's mean per class and seed, and the weights of the classes; refuse where there are none."""
        values: dict[str, dict[int, np.ndarray]] = {}
        sizes: list[np.ndarray] = []
        groups = fold_groups(self.records)
        for method in methods:
            done = [record for record in groups.get(method.key, ()) if record.state == "done"]
            read = [(seed_of(record), *self._read(record, metric)) for record in done]
            sizes += [weights for *_, weights in read]
            if by_seed := grouped((seed, means) for seed, means, _ in read):
                values[method.label] = {seed: np.mean(some, axis=0) for seed, some in by_seed.items()}
        require(bool(sizes), "no run has finished")
        first = sizes[0]
        is_same = all(np.array_equal(one, first) for one in sizes)
        require(is_same, "the runs were not tested on the same queries of the same classes")
        kept = first > 0
        require(kept.sum() > 1, f"{metric} covers one test class only")
        require(max(map(len, values.values())) > 1, "no method has two runs")
        kept_values = {label: {seed: x[kept] for seed, x in by.items()} for label, by in values.items()}
        return kept_values, first[kept].tolist()

    def _read(self, record: RunRecord, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a run's means per class and the weights of the classes; refuse where it has none."""
        folder, score = self.folders.get(record.name), record.score(metric)
        arrays = None if folder is None else arrays_in(folder.queries, ["class_sizes", f"per_class/{metric}"])
        if arrays is None:
            raise InputError(f"run {record.name} has no scores per class of {metric}")
        sizes, means = (array.astype(float) for array in arrays)
        means = np.where(sizes > 0, means, 0.0)
        for weights in (sizes, (sizes > 0).astype(float)):
            # The record's score is the mean over queries or over classes.
            if score is not None and abs(float(means @ weights / weights.sum()) - score) <= _ROUNDING:
                return means, weights
        raise InputError(f"the score of run {record.name} is not a mean over its queries")
