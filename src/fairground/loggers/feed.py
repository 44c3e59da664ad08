"""Passes epochs and results of runs to loggers, which never write a number twice; one that fails is dropped."""

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fairground.records import EpochRow, RunFolder, RunRecord
from fairground.records.training_events import EpochEnded, Event
from fairground.spec import StoreError, flatten, nearest, read_json, require

#: each is an extra, its module imported when asked for
LOGGERS = ("tensorboard", "wandb", "mlflow")
#: one number: its name, the epoch, the value
Number = tuple[str, int, float]


class Introduction(NamedTuple):
    """What a logger gets to know of a run when it opens; `settings` are dotted, as on the command line."""

    name: str
    title: str
    settings: Mapping[str, str]
    tags: Mapping[str, str]


class RunLogger(Protocol):
    """One run in one place."""

    def write(self, numbers: Iterable[Number]) -> None:
        """Write the numbers that are not there yet."""

    def close(self, state: str) -> None:
        """End the run: done, diverged, failed, or stopped when it may be resumed."""


class Feed:
    """Calls the loggers `names` at the end of each epoch and of each run."""

    def __init__(self, names: Iterable[str], home: Path) -> None:
        self._names, self._home = list(names), home
        self._loggers: dict[str, dict[str, RunLogger]] = {}

    def after(self, call: Callable[[Any], None], run: str = "") -> Callable[[Any], None]:
        """Return a function that calls another one, then the loggers if it hears of an epoch of `run` or a record."""

        def both(told: Event | Mapping[str, Any] | RunRecord) -> None:
            call(told)
            if isinstance(told, RunRecord):
                self.finished(told)
            elif isinstance(told, EpochEnded):
                self._write(run, None, numbers_of([told.row]))
            elif isinstance(told, Mapping) and told.get("kind") == "epoch":
                self._write(told["run"], None, numbers_of([EpochRow(**told["row"])]))

        return both

    def finished(self, record: RunRecord) -> None:
        """Write what is missing of a run that has ended, and close it."""
        self._write(record.name, record.spec, [*numbers_of(record.epochs), *results_of(record)])
        self._each(record.name, lambda logger: logger.close(record.state))
        self._loggers.pop(record.name, None)

    def close(self) -> None:
        for run in self._loggers:
            self._each(run, lambda logger: logger.close("stopped"))

    def _write(self, run: str, spec: Mapping[str, Any] | None, numbers: Sequence[Number]) -> None:
        if not self._names:
            return
        if run not in self._loggers:
            try:
                known = introduce(run, spec or read_json(RunFolder(self._home, run).spec, error=StoreError))
            except StoreError:  # the run is on another machine: its record will bring everything
                return
            self._loggers[run] = {}
            for name in list(self._names):
                with self._dropping(name):
                    self._loggers[run][name] = logger_named(name, known, self._home)
        self._each(run, lambda logger: logger.write(numbers))

    def _each(self, run: str, act: Callable[[RunLogger], None]) -> None:
        for name, logger in list(self._loggers.get(run, {}).items()):
            with self._dropping(name):
                act(logger)

    @contextmanager
    def _dropping(self, name: str) -> Iterator[None]:
        """Whatever a logger does wrong, the run continues without it."""
        try:
            yield
        except Exception as error:
            self._names.remove(name)
            for opened in self._loggers.values():
                opened.pop(name, None)
            reason = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
            print(f"warning: the logger {name} failed and is dropped; the run continues ({reason})", file=sys.stderr)


@contextmanager
def fed(names: Sequence[str], home: Path) -> Iterator[Feed]:
    """Yield a feed for these loggers; refuse an unknown one, and one whose package is missing."""
    for name in names:
        require(name in LOGGERS, f"no logger '{name}'.{nearest(name, LOGGERS)} There are: {', '.join(LOGGERS)}.")
        is_there = importlib.util.find_spec(name) is not None
        require(is_there, f"the logger {name} needs a package that is not installed: pip install 'fairground[{name}]'")
    feed = Feed(dict.fromkeys(names), home)
    try:
        yield feed
    finally:
        feed.close()


def logger_named(name: str, run: Introduction, home: Path) -> RunLogger:
    """Open a run in the logger called `name`: `TensorboardLogger` of `tensorboard.py`, and so on."""
    module = importlib.import_module(f"fairground.loggers.{name}")
    opened: RunLogger = getattr(module, f"{name.title()}Logger")(run, home)
    return opened


def introduce(name: str, spec: Mapping[str, Any]) -> Introduction:
    settings = {"seed": str(spec.get("seed", "")), **flatten(spec)}
    parts = [settings.get(part, "none") for part in ("loss", "miner", "regulariser")]
    title = " + ".join(part for part in parts if part != "none")
    tags = {"run": name, "protocol": settings.get("protocol", ""), "data": settings.get("data", "")}
    return Introduction(name=name, title=f"{title} {name}", settings=settings, tags=tags)


def numbers_of(rows: Iterable[EpochRow]) -> list[Number]:
    """Return the numbers of some epochs; epoch 0 is the untrained model."""
    found: list[Number] = []
    for row in rows:
        found += [(f"validation/{metric}", row.epoch, value) for metric, value in row.validation.items()]
        found += [(f"train/{measure}", row.epoch, value) for measure, value in row.train.items()]
        if row.loss is not None:
            trained = {"loss": row.loss, "images_per_second": row.images_per_second, "step": float(row.step)}
            found += [(f"train/{name}", row.epoch, value) for name, value in trained.items()]
    return found


def results_of(record: RunRecord) -> list[Number]:
    """Return the final scores of a run, at the epoch they belong to."""
    epoch = record.best_epoch or (record.epochs[-1].epoch if record.epochs else 0)
    return [(f"final/{score.split}/{score.metric}", epoch, score.value) for score in record.scores]
