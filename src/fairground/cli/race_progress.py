"""What a person sees while a race goes on: the time left, and a bar for each run; a line for each run elsewhere."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairground.cli.study_progress import Heard, Watch

if TYPE_CHECKING:
    from fairground.records.record import RunRecord
    from fairground.study.race_book import RaceBook


@contextmanager
def race_progress(book: "RaceBook", *, metric: str, is_quiet: bool) -> Iterator[tuple[Watch, Heard]]:
    """Yield what to tell of runs under way, and of their records."""
    if is_quiet:
        yield lambda _: None, lambda _: None
    elif sys.stderr.isatty():
        with _bars(book, metric) as pair:
            yield pair
    else:
        yield lambda _: None, lambda record: print(_told(record, book, metric), file=sys.stderr)


def _told(record: "RunRecord", book: "RaceBook", metric: str) -> str:
    """Return in a line how far a run has come and what it scores."""
    label, epoch = book.labels.get(record.name, record.name), max((row.epoch for row in record.epochs), default=0)
    minutes, seconds = divmod(round(book.seconds()), 60)
    score = record.score(metric, "validation")
    result = record.failure if score is None else f"validation {metric} {score:.4f}"
    test = record.score(metric, "test")
    opened = "" if test is None else f"  test {metric} {test:.4f}"
    return f"{minutes}:{seconds:02d}  {label}, seed {record.spec['seed']}, epoch {epoch}  {result}{opened}"


@contextmanager
def _bars(book: "RaceBook", metric: str) -> Iterator[tuple[Watch, Heard]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn

    columns = (TextColumn("{task.description:<34}"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        whole = progress.add_task("time", total=book.limit, told="")
        tasks: dict[str, TaskID] = {}

        def watch(event: Mapping[str, Any]) -> None:
            left = max(0, round(book.left()))
            progress.update(whole, completed=book.seconds(), told=f"{left // 60}:{left % 60:02d} left")
            if "worker_died" in event:
                progress.console.print(f"a worker died ({event['worker_died']}); its run goes on in another")
            if event.get("kind") == "prepare":
                progress.update(whole, description=f"preparing images, {event['done']} of {event['of']}")
            if event.get("kind") != "batch":
                return
            run = event["run"]
            if run not in tasks:
                progress.update(whole, description="time")
                title = book.labels.get(run, run)
                tasks[run] = progress.add_task(title, total=event["of"] * event["batches"], told="")
            done = (event["epoch"] - 1) * event["batches"] + event["batch"]
            progress.update(tasks[run], completed=done, told=f"epoch {event['epoch']}, loss {event['loss']:.4f}")

        def heard(record: "RunRecord") -> None:
            if record.name in tasks:
                progress.remove_task(tasks.pop(record.name))
            progress.console.print(_told(record, book, metric))

        yield watch, heard
