"""What a person sees during a long command: progress bars in a terminal, lines elsewhere, nothing when quiet."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from fairground import records, reporting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from fairground.recommendation.search_progress import SearchProgress
    from fairground.recommendation.time_budget import Budget

#: columns from which on a terminal has room for a long status next to a bar
WIDE = 110


def console() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


def spinner(text: str, *, is_quiet: bool) -> AbstractContextManager[Any]:
    return nullcontext() if is_quiet or not sys.stderr.isatty() else console().status(text)


def _bar(status: str, *, narrow: int, description: int = 0, after: str = "") -> "Progress":
    """Return a bar with a description, `status` and the time left; `narrow` is its width in a narrow terminal."""
    from rich import progress
    from rich.table import Column

    screen = console()
    is_wide = screen.width >= WIDE
    width = description if is_wide else min(description, 20)

    def text(template: str, **column: Any) -> progress.TextColumn:
        return progress.TextColumn(template, table_column=Column(no_wrap=True, overflow="ellipsis", **column))

    columns = [
        progress.SpinnerColumn(),
        text("{task.description}", min_width=width or None),
        progress.BarColumn(bar_width=40 if is_wide else narrow),
        text(status) if status else progress.MofNCompleteColumn(),
        *([text(after)] if after and is_wide else []),
        progress.TimeRemainingColumn(),
    ]
    return progress.Progress(*columns, console=screen)


@contextmanager
def counted(title: str, *, is_quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes what is being done, how much is done, and of how much."""
    if is_quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    with _bar("", narrow=16) as bar:
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


def shown(event: "records.training_events.Event", title: str, select_by: str) -> tuple[str, dict[str, Any]]:
    """Return an event of training as a line, and as what it changes in a bar."""
    match event:
        case records.SignFound(sentence=sentence):
            return f"warning: {sentence}", {}
        case records.Note(sentence=sentence):
            return sentence, {}
        case records.ImagesPrepared(n_done=done, n_images=of):
            doing = title if done == of else f"preparing images, {done} of {of}"
            return f"prepared {done} of {of} images", {"total": of, "completed": done, "description": doing}
        case records.StagesCached(n_done=done, n_views=of):
            speed = f"{event.images_per_second:.0f}"
            doing = title if done == of else "running the frozen stages"
            line = f"kept {done:,} of {of:,} views ({speed} images/s)"
            if not done:
                place = f"{event.n_bytes / 1e6:,.1f} MB in {event.folder}"
                line = f"running the frozen stages once over {of:,} views of images: {place}"
            return line, {"total": of, "completed": done, "speed": speed, "description": doing}
        case records.MeasuringStarted(n_images=of):
            return "", {"description": f"measuring {of:,} images"}
        case records.BatchTrained(n_batches=n, n_epochs=of):
            bar = {"total": of * n, "completed": (event.epoch - 1) * n + event.batch, "epoch": f"{event.epoch}/{of}"}
            numbers = {"loss": f"{event.loss:.4f}", "speed": f"{event.images_per_second:.0f}"}
            return "", {**bar, **numbers, "description": title}
        case records.EpochEnded(row=row, n_epochs=of):
            value = row.validation.get(select_by)
            score = "-" if value is None else reporting.with_unit(select_by, value)
            measured = "" if value is None else f"  validation {select_by} {score}"
            trained = "untrained" if row.loss is None else f"loss {row.loss:.4f}"
            speed = "" if row.loss is None else f"  {row.images_per_second:.0f} images/s"
            return f"epoch {row.epoch}/{of}  {trained}{measured}{speed}", {"score": score, "description": title}


@contextmanager
def training_progress(title: str, *, select_by: str, is_quiet: bool) -> Iterator["records.Listener"]:
    if is_quiet:
        yield lambda _: None
        return
    if not sys.stderr.isatty():

        def print_line(event: "records.training_events.Event") -> None:
            if line := shown(event, title, select_by)[0]:
                print(line, file=sys.stderr)

        yield print_line
        return
    status = "epoch {task.fields[epoch]}  loss {task.fields[loss]}  " + select_by + " {task.fields[score]}"
    with _bar(status, narrow=6, after="{task.fields[speed]} images/s") as bar:
        task = bar.add_task(title, total=None, epoch="0", loss="-", score="-", speed="-")
        updated = 0.0

        def listen(event: "records.training_events.Event") -> None:
            nonlocal updated
            if isinstance(event, records.BatchTrained):
                if time.monotonic() - updated <= 0.1:
                    return
                updated = time.monotonic()
            line, change = shown(event, title, select_by)
            # The bar itself shows the rest.
            is_first = isinstance(event, records.StagesCached) and not event.n_done
            if is_first or isinstance(event, records.SignFound | records.Note):
                bar.console.print(line)
            bar.update(task, **change)

        yield listen


@contextmanager
def study_progress(
    total: int, *, metric: str, is_quiet: bool, is_most: bool = False, titles: Mapping[str, str] | None = None
) -> Iterator[tuple[Callable[[Mapping[str, Any]], None], Callable[["records.RunRecord"], None]]]:
    """Yield what to call with the events of runs, and with their records: a bar for the whole and one per run.

    `total` is the number of runs, or with `is_most` the largest, as pruning or waves may save some; `titles` are shown
    instead of the names of runs in progress.
    """
    if is_quiet:
        yield lambda _: None, lambda _: None
        return
    most, numbers, signs = "at most " if is_most else "", count(1), set[str]()
    if not sys.stderr.isatty():

        def end_line(record: "records.RunRecord") -> None:
            ended = "  ".join([record.name, *_outcome(record, metric, signs)])
            print(f"run {next(numbers)} of {most}{total}  {ended}", file=sys.stderr)

        yield lambda event: _say_note(event, partial(print, file=sys.stderr)), end_line
        return
    tasks: dict[str, TaskID] = {}
    with _bar("", narrow=10, description=34, after="{task.fields[status]}") as bar:
        overall = bar.add_task("runs, at most" if is_most else "runs", total=total, status="")

        def watch(event: Mapping[str, Any]) -> None:
            _say_note(event, bar.console.print)
            if event.get("kind") != "batch":
                return
            run = event["run"]
            if run not in tasks:
                title = (titles or {}).get(run, run)
                tasks[run] = bar.add_task(title, total=event["of"] * event["batches"], status="")
            done = (event["epoch"] - 1) * event["batches"] + event["batch"]
            bar.update(tasks[run], completed=done, status=f"epoch {event['epoch']}, loss {event['loss']:.4f}")

        def end(record: "records.RunRecord") -> None:
            if record.name in tasks:
                bar.remove_task(tasks.pop(record.name))
            status = ": ".join(_outcome(record, metric, signs))
            bar.update(overall, advance=1, status=status)
            if bar.console.width < WIDE:  # which has no room for it next to a bar
                bar.console.print(status)

        yield watch, end


def _outcome(record: "records.RunRecord", metric: str, known_signs: set[str]) -> tuple[str, str]:
    """Return what a run is, and how it ended: with its score, and the signs of the doctor that are not known yet."""
    fold = record.setting("split.fold")
    test, validation = record.score(metric, "test"), record.score(metric, "validation")
    score, part = (test, "test") if test is not None else (validation, "validation")
    ended = "done" if score is None else f"{part} {metric} {reporting.with_unit(metric, score)}"
    if record.state != "done":
        ended = f"{record.state}: {record.failure}"
    new = [sign for sign in dict.fromkeys(finding.sign for finding in record.findings) if sign not in known_signs]
    known_signs.update(new)
    signs = f"  doctor: {', '.join(new)}" if new else ""
    which = "" if fold is None else f" fold {fold}"
    return f"{record.setting('loss')} seed {record.spec['seed']}{which}", f"{ended}{signs}"


def _say_note(event: Mapping[str, Any], say: Callable[[str], None]) -> None:
    if "note" in event:
        say(event["note"])


@contextmanager
def search_progress(budget: "Budget", *, is_quiet: bool) -> Iterator["SearchProgress"]:
    from fairground.recommendation.search_progress import SearchProgress

    if is_quiet or not sys.stderr.isatty():
        yield SearchProgress(budget, is_quiet=is_quiet)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TimeElapsedColumn())
    with Progress(*columns, console=console()) as bar:
        yield SearchProgress(budget, is_quiet=False, bar=bar)
