"""What a person sees during a long command: bars in a terminal, lines elsewhere, nothing when quiet."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairground.commands.terminal import console
from fairground.records.events import (
    BatchTrained,
    EpochEnded,
    ImagesPrepared,
    MeasuringStarted,
    Note,
    SignFound,
    StagesCached,
)

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from fairground.recommendation.budget import Budget
    from fairground.recommendation.race_progress import RaceProgress
    from fairground.records.events import Event, Listener
    from fairground.records.record import RunRecord

#: columns from which on a terminal has room for a long status next to a bar
WIDE = 110
Watch = Callable[[Mapping[str, Any]], None]
OnRecord = Callable[["RunRecord"], None]


def spinner(text: str, *, is_quiet: bool) -> AbstractContextManager[Any]:
    """Return a context that shows a text while it lasts, in a terminal."""
    return nullcontext() if is_quiet or not sys.stderr.isatty() else console().status(text)


@contextmanager
def counted(title: str, *, is_quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes what is being done, how much is done, and of how much."""
    if is_quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

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
                # Progress made before, perhaps by an earlier command, says nothing about the speed of this one.
                bar.reset(task, completed=done, total=of, description=what or title)
                doing = what
            bar.update(task, completed=done, total=of)

        yield tell


@dataclass(frozen=True)
class Shown:
    """How an event of training is shown: as a line, which a terminal prints only if `is_news`, and in the bar."""

    line: str = ""
    is_news: bool = False
    bar: Mapping[str, Any] = field(default_factory=dict)


def shown(event: "Event", title: str, select_by: str) -> Shown:
    """Return how an event of training is shown."""
    from fairground.reporting.headings import with_unit

    match event:
        case SignFound(sentence=sentence):
            return Shown(f"warning: {sentence}", is_news=True)
        case Note(sentence=sentence):
            return Shown(sentence, is_news=True)
        case ImagesPrepared(n_done=done, n_images=of):
            doing = title if done == of else f"preparing images, {done} of {of}"
            bar = {"total": of, "completed": done, "description": doing}
            return Shown(f"prepared {done} of {of} images", bar=bar)
        case StagesCached(n_done=done, n_views=of):
            speed = f"{event.images_per_second:.0f}"
            doing = title if done == of else "running the frozen stages"
            bar = {"total": of, "completed": done, "speed": speed, "description": doing}
            if done:
                return Shown(f"kept {done:,} of {of:,} views ({speed} images/s)", bar=bar)
            place = f"{event.n_bytes / 1e6:,.1f} MB in {event.folder}"
            return Shown(f"running the frozen stages once over {of:,} views of images: {place}", is_news=True, bar=bar)
        case MeasuringStarted(n_images=of):
            return Shown(bar={"description": f"measuring {of:,} images"})
        case BatchTrained(n_batches=n, n_epochs=of):
            bar = {"total": of * n, "completed": (event.epoch - 1) * n + event.batch, "epoch": f"{event.epoch}/{of}"}
            numbers = {"loss": f"{event.loss:.4f}", "speed": f"{event.images_per_second:.0f}"}
            return Shown(bar={**bar, **numbers, "description": title})
        case EpochEnded(row=row, n_epochs=of):
            value = row.validation.get(select_by)
            score = "-" if value is None else with_unit(select_by, value)
            measured = "" if value is None else f"  validation {select_by} {score}"
            trained = "untrained" if row.loss is None else f"loss {row.loss:.4f}"
            speed = "" if row.loss is None else f"  {row.images_per_second:.0f} images/s"
            line = f"epoch {row.epoch}/{of}  {trained}{measured}{speed}"
            return Shown(line, bar={"score": score, "description": title})


@contextmanager
def training_progress(title: str, *, select_by: str, is_quiet: bool) -> Iterator["Listener"]:
    """Yield a listener for the events of one training."""
    if is_quiet:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        # Without a bar there is nothing between the lines to keep up to date.
        yield lambda event: _print_line(shown(event, title, select_by).line)
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

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
        updated = 0.0

        def listen(event: "Event") -> None:
            nonlocal updated
            if isinstance(event, BatchTrained):
                if time.monotonic() - updated <= 0.1:
                    return
                updated = time.monotonic()
            news = shown(event, title, select_by)
            if news.is_news:
                progress.console.print(news.line)
            progress.update(task, **news.bar)

        yield listen


def _print_line(line: str) -> None:
    if line:
        print(line, file=sys.stderr)


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

    `total` is the number of runs, or with `is_most` the largest, as pruning or waves may save some; `titles` are shown
    instead of the names of runs in progress.
    """
    if is_quiet:
        yield lambda _: None, lambda _: None
    elif sys.stderr.isatty():
        with _study_bars(total, metric, is_most=is_most, titles=titles or {}) as pair:
            yield pair
    else:
        n_done = iter(range(1, 10**9))
        most = f"at most {total}" if is_most else str(total)
        signs: set[str] = set()

        def on_record(record: "RunRecord") -> None:
            about = f"{_title(record)}  {_outcome(record, metric)}{new_signs(record, signs)}"
            _print_line(f"run {next(n_done)} of {most}  {record.name}  {about}")

        yield lambda event: _print_line(_worker_loss(event)), on_record


@contextmanager
def _study_bars(
    total: int, metric: str, *, is_most: bool, titles: Mapping[str, str]
) -> Iterator[tuple[Watch, OnRecord]]:
    """Show one bar for the whole and one per run."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    screen = console()
    is_wide = screen.width >= WIDE
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, min_width=34 if is_wide else 20)),
        BarColumn(bar_width=40 if is_wide else 10),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    signs: set[str] = set()
    with Progress(*columns, console=screen) as progress:
        overall = progress.add_task("runs, at most" if is_most else "runs", total=total, status="")
        bars = RunBars(progress, titles)

        def on_record(record: "RunRecord") -> None:
            bars.end(record.name)
            status = f"{_title(record)}: {_outcome(record, metric)}{new_signs(record, signs)}"
            if is_wide:
                progress.update(overall, advance=1, status=status)
            else:
                # A narrow terminal has no room for it next to a bar.
                progress.console.print(status)
                progress.update(overall, advance=1)

        yield bars.watch, on_record


class RunBars:
    """One bar per run; `progress` must have a column for the field `status`."""

    def __init__(self, progress: "Progress", titles: Mapping[str, str]) -> None:
        self._progress, self._titles = progress, titles
        self._tasks: dict[str, TaskID] = {}

    def watch(self, event: Mapping[str, Any]) -> None:
        """Move the bar of the run that an event is about."""
        if line := _worker_loss(event):
            self._progress.console.print(line)
        if event.get("kind") != "batch":
            return
        run = event["run"]
        if run not in self._tasks:
            total = event["of"] * event["batches"]
            self._tasks[run] = self._progress.add_task(self._titles.get(run, run), total=total, status="")
        done = (event["epoch"] - 1) * event["batches"] + event["batch"]
        status = f"epoch {event['epoch']}, loss {event['loss']:.4f}"
        self._progress.update(self._tasks[run], completed=done, status=status)

    def end(self, run: str) -> None:
        """Remove the bar of a run."""
        if run in self._tasks:
            self._progress.remove_task(self._tasks.pop(run))


def new_signs(record: "RunRecord", known: set[str]) -> str:
    """Name what the doctor found and is not `known` yet, and add it; `fairground show` prints the findings in full."""
    new = [sign for sign in dict.fromkeys(finding.sign for finding in record.findings) if sign not in known]
    known.update(new)
    return f"  doctor: {', '.join(new)}" if new else ""


def _title(record: "RunRecord") -> str:
    loss: Any = record.spec["loss"]
    split: Any = record.spec["split"]
    fold = f" fold {split['fold']}" if "fold" in split else ""
    return f"{loss['name']} seed {record.spec['seed']}{fold}"


def _outcome(record: "RunRecord", metric: str) -> str:
    from fairground.reporting.headings import with_unit

    if record.state != "done":
        return f"{record.state}: {record.failure}"
    test, validation = record.score(metric, "test"), record.score(metric, "validation")
    score, split = (test, "test") if test is not None else (validation, "validation")
    return "done" if score is None else f"{split} {metric} {with_unit(metric, score)}"


def _worker_loss(event: Mapping[str, Any]) -> str:
    if "worker_died" not in event:
        return ""
    return f"a worker died ({event['worker_died']}); the next free worker continues its run"


@contextmanager
def race_progress(budget: "Budget", *, is_quiet: bool) -> Iterator["RaceProgress"]:
    """Yield what shows the progress of a recommendation."""
    from fairground.recommendation.race_progress import RaceProgress

    if is_quiet or not sys.stderr.isatty():
        yield RaceProgress(budget, is_quiet=is_quiet)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TimeElapsedColumn())
    with Progress(*columns, console=console()) as bar:
        yield RaceProgress(budget, is_quiet=False, bar=bar)
