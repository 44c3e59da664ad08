"""What a person sees while a race goes on: the time left, and a bar for each run; a line for each run elsewhere."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairground.cli.run_bars import Heard, RunBars, Watch, signs_told, warn

if TYPE_CHECKING:
    from fairground.recommend.race_state import RaceState
    from fairground.records.record import RunRecord


@contextmanager
def race_progress(book: "RaceState", *, metric: str, is_quiet: bool) -> Iterator[tuple[Watch, Heard]]:
    """Yield what to tell of runs under way, and of their records."""
    if is_quiet:
        yield lambda _: None, lambda _: None
    elif sys.stderr.isatty():
        with _bars(book, metric) as pair:
            yield pair
    else:
        yield warn, lambda record: print(_told(record, book, metric), file=sys.stderr)


def _told(record: "RunRecord", book: "RaceState", metric: str) -> str:
    """Return in a line how far a run has come and what it scores."""
    label, epoch = book.labels.get(record.name, record.name), max((row.epoch for row in record.epochs), default=0)
    minutes, seconds = divmod(round(book.seconds()), 60)
    score = record.score(metric, "validation")
    result = record.failure if score is None else f"validation {metric} {score:.4f}"
    test = record.score(metric, "test")
    opened = "" if test is None else f"  test {metric} {test:.4f}"
    run = f"{label}, seed {record.spec['seed']}, epoch {epoch}"
    return f"{minutes}:{seconds:02d}  {run}  {result}{opened}{signs_told(record)}"


@contextmanager
def _bars(book: "RaceState", metric: str) -> Iterator[tuple[Watch, Heard]]:
    from rich.progress import BarColumn, Progress, TextColumn

    from fairground.cli.terminal import console

    columns = (TextColumn("{task.description:<34}"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=console()) as progress:
        whole = progress.add_task("time", total=book.limit, told="")
        bars = RunBars(progress)

        def watch(event: Mapping[str, Any]) -> None:
            left = max(0, round(book.left()))
            progress.update(whole, completed=book.seconds(), told=f"{left // 60}:{left % 60:02d} left")
            if event.get("kind") == "prepare":
                progress.update(whole, description=f"preparing images, {event['done']} of {event['of']}")
            if event.get("kind") == "batch":
                progress.update(whole, description="time")
            bars.watch(event, lambda run: book.labels.get(run, run))

        def heard(record: "RunRecord") -> None:
            bars.end(record.name)
            progress.console.print(_told(record, book, metric))

        yield watch, heard
