"""What a person sees while a race goes on: the time left, and a bar for each run; a line for each run elsewhere."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairground.api.progress.run_bars import OnRecord, RunBars, Watch, signs_found, warn

if TYPE_CHECKING:
    from fairground.recommend.race_state import RaceState
    from fairground.records.record import RunRecord


@contextmanager
def race_progress(state: "RaceState", *, metric: str, is_quiet: bool) -> Iterator[tuple[Watch, OnRecord]]:
    """Yield what to tell of runs under way, and of their records."""
    if is_quiet:
        yield lambda _: None, lambda _: None
    elif sys.stderr.isatty():
        with _bars(state, metric) as pair:
            yield pair
    else:
        yield warn, lambda record: print(_line(record, state, metric), file=sys.stderr)


def _line(record: "RunRecord", state: "RaceState", metric: str) -> str:
    """Return in a line how far a run has come and what it scores."""
    label, epoch = state.labels.get(record.name, record.name), max((row.epoch for row in record.epochs), default=0)
    minutes, seconds = divmod(round(state.seconds()), 60)
    score = record.score(metric, "validation")
    result = record.failure if score is None else f"validation {metric} {score:.4f}"
    test = record.score(metric, "test")
    opened = "" if test is None else f"  test {metric} {test:.4f}"
    run = f"{label}, seed {record.spec['seed']}, epoch {epoch}"
    return f"{minutes}:{seconds:02d}  {run}  {result}{opened}{signs_found(record)}"


@contextmanager
def _bars(state: "RaceState", metric: str) -> Iterator[tuple[Watch, OnRecord]]:
    from rich.progress import BarColumn, Progress, TextColumn

    from fairground.api.terminal import console

    columns = (TextColumn("{task.description:<34}"), BarColumn(), TextColumn("{task.fields[status]}"))
    with Progress(*columns, console=console()) as progress:
        overall = progress.add_task("time", total=state.limit, status="")
        bars = RunBars(progress)

        def watch(event: Mapping[str, Any]) -> None:
            left = max(0, round(state.left()))
            progress.update(overall, completed=state.seconds(), status=f"{left // 60}:{left % 60:02d} left")
            if event.get("kind") == "prepare":
                progress.update(overall, description=f"preparing images, {event['done']} of {event['of']}")
            if event.get("kind") == "cache":
                progress.update(overall, description=f"running frozen stages, {event['done']} of {event['of']}")
            if event.get("kind") == "batch":
                progress.update(overall, description="time")
            bars.watch(event, lambda run: state.labels.get(run, run))

        def on_record(record: "RunRecord") -> None:
            bars.end(record.name)
            progress.console.print(_line(record, state, metric))

        yield watch, on_record
