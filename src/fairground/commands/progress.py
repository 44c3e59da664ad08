"""What a person sees while work goes on: bars in a terminal, lines elsewhere, nothing when quiet."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from fairground.recommendation.budget import Budget
    from fairground.recommendation.race_progress import RaceProgress
    from fairground.records.events import Event, Listener, StagesCached
    from fairground.records.record import RunRecord

#: columns from which on a terminal has room for a long status next to a bar
WIDE = 110
Watch = Callable[[Mapping[str, Any]], None]
OnRecord = Callable[["RunRecord"], None]


#: signs in records of earlier versions by the words of today
SIGN_WORDS = {"divergence": "overfitting"}


def warn(event: Mapping[str, Any]) -> None:
    """Say off a terminal that a worker died."""
    if "worker_died" in event:
        print(_loss_of(event), file=sys.stderr)


class RunBars:
    """Bars of runs by name; `progress` must have a column for the field `status`."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def watch(self, event: Mapping[str, Any], title: Callable[[str], str] = str) -> None:
        """Move the bar of the run an event is about; `title` turns a run's name into what is shown."""
        if "worker_died" in event:
            self._progress.console.print(_loss_of(event))
        if event.get("kind") != "batch":
            return
        run = event["run"]
        if run not in self._tasks:
            self._tasks[run] = self._progress.add_task(title(run), total=event["of"] * event["batches"], status="")
        done = (event["epoch"] - 1) * event["batches"] + event["batch"]
        status = f"epoch {event['epoch']}, loss {event['loss']:.4f}"
        self._progress.update(self._tasks[run], completed=done, status=status)

    def end(self, run: str) -> None:
        """Take the bar of a run away."""
        if run in self._tasks:
            self._progress.remove_task(self._tasks.pop(run))


def signs_found(record: "RunRecord", said: set[str] | None = None) -> str:
    """Name what the doctor found, each sign once where it is noted what was `said`; `fairground show` says it all."""
    signs = [SIGN_WORDS.get(finding.sign, finding.sign) for finding in record.findings]
    new = [sign for sign in dict.fromkeys(signs) if said is None or sign not in said]
    if said is not None:
        said.update(new)
    return f"  doctor: {', '.join(new)}" if new else ""


def _loss_of(event: Mapping[str, Any]) -> str:
    return f"a worker died ({event['worker_died']}); its run goes on in the next one that is free"


@contextmanager
def counted(title: str, *, is_quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes what is being done, how much is done, and of how much."""
    if is_quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from fairground.commands.terminal import console

    screen = console()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=40 if screen.width >= WIDE else 16),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen) as bar:
        task = bar.add_task(title, total=None)
        doing: str | None = None

        def tell(what: str, done: int, of: int) -> None:
            nonlocal doing
            if what != doing:
                # What was done before, in an earlier command perhaps, says nothing about the speed of this one.
                bar.reset(task, completed=done, total=of, description=what or title)
                doing = what
            bar.update(task, completed=done, total=of)

        yield tell


def spinner(words: str, *, is_quiet: bool) -> AbstractContextManager[Any]:
    """Return a context that shows the words while it lasts."""
    if is_quiet or not sys.stderr.isatty():
        return nullcontext()
    from fairground.commands.terminal import console

    return console().status(words)


@contextmanager
def training_progress(title: str, *, select_by: str, is_quiet: bool) -> Iterator["Listener"]:
    """Yield a listener for training events."""
    if is_quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar(title, select_by) as listen:
            yield listen
    else:
        yield lambda event: _line(event, select_by)


def cache_line(event: "StagesCached") -> str:
    """Say what the outputs of frozen stages will take and where, or how far they are."""
    if event.n_done == 0:
        size = f"{event.n_bytes / 1e6:,.1f} MB"
        return f"running the frozen stages once over {event.n_views:,} views of images: {size} in {event.folder}"
    return f"kept {event.n_done:,} of {event.n_views:,} views ({event.images_per_second:.0f} images/s)"


def _line(event: "Event", select_by: str) -> None:
    from fairground.records.events import EpochEnded, ImagesPrepared, Note, SignFound, StagesCached
    from fairground.reporting.headings import with_unit

    match event:
        case SignFound():
            print(f"warning: {event.sentence}", file=sys.stderr)
        case ImagesPrepared():
            print(f"prepared {event.n_done} of {event.n_images} images", file=sys.stderr)
        case StagesCached():
            print(cache_line(event), file=sys.stderr)
        case Note():
            print(event.sentence, file=sys.stderr)
        case EpochEnded(row=row):
            score = row.validation.get(select_by)
            shown = "" if score is None else f"  validation {select_by} {with_unit(select_by, score)}"
            speed = f"{row.images_per_second:.0f} images/s"
            print(f"epoch {row.epoch}/{event.n_epochs}  loss {row.loss:.4f}{shown}  {speed}", file=sys.stderr)


@contextmanager
def _bar(title: str, select_by: str) -> Iterator["Listener"]:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    from fairground.commands.terminal import console
    from fairground.records.events import (
        BatchTrained,
        EpochEnded,
        Event,
        ImagesPrepared,
        MeasuringStarted,
        Note,
        SignFound,
        StagesCached,
    )
    from fairground.reporting.headings import with_unit

    screen = console()
    is_wide = screen.width >= WIDE
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
        BarColumn(bar_width=40 if is_wide else 6),
        TextColumn(
            "epoch {task.fields[epoch]}  loss {task.fields[loss]}  " + select_by + " {task.fields[score]}",
            table_column=Column(no_wrap=True, overflow="ellipsis"),
        ),
        *((TextColumn("{task.fields[speed]} images/s"),) if is_wide else ()),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen) as progress:
        task = progress.add_task(title, total=None, epoch="0", loss="-", score="-", speed="-")
        shown = 0.0

        def listen(event: Event) -> None:
            nonlocal shown
            match event:
                case SignFound():
                    progress.console.print(f"warning: {event.sentence}")
                case Note():
                    progress.console.print(event.sentence)
                case ImagesPrepared(n_done=done, n_images=n):
                    doing = title if done == n else f"preparing images, {done} of {n}"
                    progress.update(task, total=n, completed=done, description=doing)
                case StagesCached(n_done=done, n_views=n):
                    if done == 0:
                        progress.console.print(cache_line(event))
                    doing = title if done == n else "running the frozen stages"
                    speed = f"{event.images_per_second:.0f}"
                    progress.update(task, total=n, completed=done, description=doing, speed=speed)
                case MeasuringStarted():
                    progress.update(task, description=f"measuring {event.n_images:,} images")
                case EpochEnded(row=row):
                    score = row.validation.get(select_by)
                    progress.update(
                        task, score="-" if score is None else with_unit(select_by, score), description=title
                    )
                case BatchTrained() if time.monotonic() - shown > 0.1:
                    shown = time.monotonic()
                    progress.update(
                        task,
                        description=title,
                        total=event.n_epochs * event.n_batches,
                        completed=(event.epoch - 1) * event.n_batches + event.batch,
                        epoch=f"{event.epoch}/{event.n_epochs}",
                        loss=f"{event.loss:.4f}",
                        speed=f"{event.images_per_second:.0f}",
                    )

        yield listen


@contextmanager
def study_progress(
    total: int,
    *,
    metric: str,
    is_quiet: bool,
    is_most: bool = False,
    titles: Mapping[str, str] | None = None,
) -> Iterator[tuple[Watch, OnRecord]]:
    """Yield what to call with the events of runs, and with their records.

    `total` is how many runs there are, or with `is_most` can be, as pruning or waves may save some; `titles` names runs
    in progress.
    """
    if is_quiet:
        yield lambda _: None, lambda _: None
    elif sys.stderr.isatty():
        with _study_bars(total, metric, is_most=is_most, titles=titles or {}) as pair:
            yield pair
    else:
        n_done = iter(range(1, 10**9))
        most = f"at most {total}" if is_most else str(total)
        said: set[str] = set()
        yield warn, lambda record: _study_line(record, f"{next(n_done)} of {most}", metric, said)


def _study_line(record: "RunRecord", number: str, metric: str, said: set[str]) -> None:
    print(f"run {number}  {record.name}  {_title(record)}  {_result(record, metric, said)}", file=sys.stderr)


def _title(record: "RunRecord") -> str:
    loss, split = record.spec["loss"], record.spec["split"]
    assert isinstance(loss, Mapping)
    assert isinstance(split, Mapping)
    fold = f" fold {split['fold']}" if "fold" in split else ""
    return f"{loss['name']} seed {record.spec['seed']}{fold}"


def _result(record: "RunRecord", metric: str, said: set[str]) -> str:
    return f"{_outcome(record, metric)}{signs_found(record, said)}"


def _outcome(record: "RunRecord", metric: str) -> str:
    from fairground.reporting.headings import with_unit

    if record.state != "done":
        return f"{record.state}: {record.failure}"
    test, validation = record.score(metric, "test"), record.score(metric, "validation")
    score, split = (test, "test") if test is not None else (validation, "validation")
    return "done" if score is None else f"{split} {metric} {with_unit(metric, score)}"


@contextmanager
def _study_bars(
    total: int, metric: str, *, is_most: bool, titles: Mapping[str, str]
) -> Iterator[tuple[Watch, OnRecord]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    from fairground.commands.terminal import console

    shown = console()
    is_wide = shown.width >= WIDE
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, min_width=34 if is_wide else 20)),
        BarColumn(bar_width=40 if is_wide else 10),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    said: set[str] = set()
    with Progress(*columns, console=shown) as progress:
        words = "runs, at most" if is_most else "runs"
        overall = progress.add_task(words, total=total, status="")
        bars = RunBars(progress)

        def on_record(record: "RunRecord") -> None:
            bars.end(record.name)
            status = f"{_title(record)}: {_result(record, metric, said)}"
            if is_wide:
                progress.update(overall, advance=1, status=status)
            else:
                # A narrow terminal has no room for it next to a bar.
                progress.console.print(status)
                progress.update(overall, advance=1)

        yield lambda event: bars.watch(event, lambda run: titles.get(run, run)), on_record


@contextmanager
def race_progress(budget: "Budget", *, is_quiet: bool) -> Iterator["RaceProgress"]:
    """Yield what to show progress with."""
    from fairground.recommendation.race_progress import RaceProgress

    if is_quiet or not sys.stderr.isatty():
        yield RaceProgress(budget, is_quiet=is_quiet)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from fairground.commands.terminal import console

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TimeElapsedColumn())
    with Progress(*columns, console=console()) as bar:
        yield RaceProgress(budget, is_quiet=False, bar=bar)
