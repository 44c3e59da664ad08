"""One run as a live page shows it: what it is, how far it is, and its learning curve, from its record or its folder."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any

from fairground.errors import StoreError, require
from fairground.records.record import EpochRow, RunRecord
from fairground.records.run_folder import RunInProgress
from fairground.reporting.headings import clean, heading, show
from fairground.spec.identity import flatten

#: the little drawing of a curve, in its own units
WIDTH, HEIGHT, EDGE = 240.0, 60.0, 4.0
#: what a run without a record is called
AT_WORK, STOPPED = "under way", "stopped"


@dataclass(frozen=True, kw_only=True)
class RunView:
    """`score` is of the test split where the run has opened it, otherwise the last or best on validation."""

    name: str
    label: str
    data: str
    seed: str
    state: str
    is_trial: bool
    metric: str
    epoch: int
    n_epochs: int
    curve: tuple[tuple[int, float], ...]
    loss: float | None
    score: float | None
    split: str
    seconds: float
    seconds_left: float | None
    started: str
    failure: str

    @property
    def share(self) -> float:
        """How much of the training is done."""
        return min(1.0, self.epoch / self.n_epochs) if self.n_epochs else 0.0

    @property
    def shown_score(self) -> str:
        """The score as readers see it."""
        return "-" if self.score is None else show(self.metric, self.score)

    @property
    def heading(self) -> str:
        """The metric's name as papers print it."""
        return heading(self.metric)

    @property
    def span(self) -> tuple[str, str] | None:
        """The lowest and the highest score of the curve as text."""
        values = [value for _, value in self.curve]
        return (show(self.metric, min(values)), show(self.metric, max(values))) if values else None

    @property
    def points(self) -> str:
        """The curve as the points of an SVG line; it grows to the right as far as the run is planned."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self._places())

    @property
    def head(self) -> tuple[float, float] | None:
        """Where the curve has got to."""
        places = self._places()
        return places[-1] if places else None

    def _places(self) -> list[tuple[float, float]]:
        values = [value for _, value in self.curve]
        if not values:
            return []
        low, high = min(values), max(values)
        last = max(self.n_epochs, self.curve[-1][0], 1)
        return [
            (
                EDGE + (WIDTH - 2 * EDGE) * epoch / last,
                HEIGHT / 2 if high == low else HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (value - low) / (high - low),
            )
            for epoch, value in self.curve
        ]


def from_record(record: RunRecord) -> RunView:
    """Return what a finished run shows."""
    metric = _metric(record.spec, record.epochs)
    test, validation = record.score(metric), record.score(metric, "validation")
    return _view(
        record.name,
        record.spec,
        record.epochs,
        state=record.state,
        epoch=record.epochs[-1].epoch if record.epochs else 0,
        score=validation if test is None else test,
        split="validation" if test is None else "test",
        seconds=record.provenance.wall_seconds,
        started=record.provenance.started,
        failure=record.failure or "",
    )


def from_folder(seen: RunInProgress) -> RunView:
    """Return what a run under way shows; refuse numbers that no page could show."""
    done = seen.rows[-1].epoch if seen.rows else 0
    n_epochs = _integer(_part(seen.spec, "training").get("epochs"))
    metric = _metric(seen.spec, seen.rows)
    scores = [row.validation[metric] for row in seen.rows if metric in row.validation]
    left = seen.seconds / done * max(0, n_epochs - done) if done and seen.is_at_work else None
    view = _view(
        seen.name,
        seen.spec,
        seen.rows,
        state=AT_WORK if seen.is_at_work else STOPPED,
        epoch=done,
        score=scores[-1] if scores else None,
        split="validation",
        seconds=seen.seconds,
        seconds_left=left,
        started=seen.started,
    )
    numbers = [view.epoch, view.n_epochs, view.loss or 0.0, view.seconds, view.seconds_left or 0.0, *chain(*view.curve)]
    require(all(map(isfinite, numbers)), "its newest checkpoint holds a number that is not finite", StoreError)
    return view


def _view(
    name: str,
    spec: Mapping[str, Any],
    rows: Iterable[EpochRow],
    *,
    state: str,
    epoch: int,
    score: float | None,
    split: str,
    seconds: float,
    started: str,
    seconds_left: float | None = None,
    failure: str = "",
) -> RunView:
    kept = tuple(rows)
    flat = flatten(spec)
    metric = _metric(spec, kept)
    parts = [
        flat.get("loss", "?"),
        *(flat[part] for part in ("miner", "regulariser") if flat.get(part, "none") != "none"),
    ]
    fold = f" · fold {flat['split.fold']}" if "split.fold" in flat else ""
    losses = [row.loss for row in kept if row.loss is not None]
    return RunView(
        name=name,
        label=clean(" + ".join(parts)),
        data=clean(flat.get("data", "?")),
        seed=clean(f"{spec.get('seed', '?')}{fold}"),
        state=state,
        is_trial=_part(spec, "evaluation").get("test") is False,
        metric=metric,
        epoch=epoch,
        n_epochs=_integer(_part(spec, "training").get("epochs")),
        curve=tuple((row.epoch, row.validation[metric]) for row in kept if metric in row.validation),
        loss=losses[-1] if losses else None,
        score=score,
        split=split,
        seconds=seconds,
        seconds_left=seconds_left,
        started=clean(started[:16].replace("T", " ")),
        failure=failure,
    )


def _metric(spec: Mapping[str, Any], rows: Iterable[EpochRow]) -> str:
    said = _part(spec, "evaluation").get("select_by")
    return said if isinstance(said, str) else next((name for row in rows for name in row.validation), "map@r")


def _part(spec: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = spec.get(name)
    return found if isinstance(found, Mapping) else {}


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
