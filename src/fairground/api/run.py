"""A run as Python users see it: its scores, its history, its folder and its record."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from fairground.records.record import EpochRow, RunRecord, State
from fairground.records.run_folder import RunFolder


@dataclass(frozen=True, kw_only=True, repr=False)
class Run:
    """One run and where it lies. `is_new` tells that this call trained it; otherwise its record was there already."""

    record: RunRecord
    home: Path
    is_new: bool = False

    @property
    def name(self) -> str:
        """The run's name: the hash of its complete spec."""
        return self.record.name

    @property
    def state(self) -> State:
        """`done`, or how it ended otherwise; `record.failure` says why."""
        return self.record.state

    @property
    def scores(self) -> dict[str, float]:
        """The scores on the test classes by metric, once the run is done."""
        return {score.metric: score.value for score in self.record.scores if score.split == "test"}

    @property
    def validation_scores(self) -> dict[str, float]:
        """The scores of the selected model on the validation classes, by metric."""
        return {score.metric: score.value for score in self.record.scores if score.split == "validation"}

    @property
    def history(self) -> list[EpochRow]:
        """One row per epoch: the mean training loss and the validation scores. Epoch 0 is the untrained model."""
        return list(self.record.epochs)

    @property
    def folder(self) -> Path:
        """Where the run's files are: spec, checkpoints, embeddings, galleries."""
        return RunFolder(self.home, self.name).path

    def __repr__(self) -> str:
        from fairground.reporting.headings import with_unit
        from fairground.spec.data_name import data_name
        from fairground.spec.method_name import method_name

        spec = self.record.spec
        words = f"{method_name(spec)} on {data_name(spec.get('data'))}, seed {spec.get('seed')}, {self.state}"
        first = list(self.scores.items())[:2]
        scores = "".join(f", test {metric} {with_unit(metric, value)}" for metric, value in first)
        return f"<Run {self.name}: {words}{scores}>"


class RunList(Sequence[Run]):
    """Some runs, in the order they were stored."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records of the runs."""
        return tuple(run.record for run in self._runs)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> "RunList": ...
    def __getitem__(self, place: int | slice) -> "Run | RunList":
        return RunList(self._runs[place]) if isinstance(place, slice) else self._runs[place]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __repr__(self) -> str:

        return "\n".join(map(repr, self._runs)) or "<no runs>"
