"""What a person sees while training: a bar in a terminal, one line an epoch elsewhere, nothing when quiet."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fairground.api.progress.run_bars import WIDE

Listener = Callable[[Mapping[str, Any]], None]


@contextmanager
def training_progress(title: str, *, select_by: str, is_quiet: bool) -> Iterator[Listener]:
    """Yield a listener for training events."""
    if is_quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar(title, select_by) as listen:
            yield listen
    else:
        yield lambda event: _line(event, select_by)


def cache_line(event: Mapping[str, Any]) -> str:
    """Say what the outputs of frozen stages will take and where, or how far they are."""
    if event["done"] == 0:
        size = f"{event['bytes'] / 1e6:,.1f} MB"
        return f"running the frozen stages once over {event['of']:,} views of images: {size} in {event['folder']}"
    return f"kept {event['done']:,} of {event['of']:,} views ({event['images_per_second']:.0f} images/s)"


def _line(event: Mapping[str, Any], select_by: str) -> None:
    from fairground.reporting.headings import with_unit

    if event["kind"] == "warning":
        print(f"warning: {event['sentence']}", file=sys.stderr)
    elif event["kind"] == "prepare":
        print(f"prepared {event['done']} of {event['of']} images", file=sys.stderr)
    elif event["kind"] == "cache":
        print(cache_line(event), file=sys.stderr)
    elif event["kind"] == "note":
        print(event["sentence"], file=sys.stderr)
    elif event["kind"] == "epoch":
        score = event["validation"].get(select_by)
        shown = "" if score is None else f"  validation {select_by} {with_unit(select_by, score)}"
        speed = f"{event['images_per_second']:.0f} images/s"
        print(f"epoch {event['epoch']}/{event['of']}  loss {event['loss']:.4f}{shown}  {speed}", file=sys.stderr)


@contextmanager
def _bar(title: str, select_by: str) -> Iterator[Listener]:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    from fairground.api.terminal import console
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

        def listen(event: Mapping[str, Any]) -> None:
            nonlocal shown
            if event["kind"] == "warning":
                progress.console.print(f"warning: {event['sentence']}")
            elif event["kind"] == "prepare":
                is_ready = event["done"] == event["of"]
                words = title if is_ready else f"preparing images, {event['done']} of {event['of']}"
                progress.update(task, total=event["of"], completed=event["done"], description=words)
            elif event["kind"] == "cache":
                if event["done"] == 0:
                    progress.console.print(cache_line(event))
                words = title if event["done"] == event["of"] else "running the frozen stages"
                speed = f"{event['images_per_second']:.0f}"
                progress.update(task, total=event["of"], completed=event["done"], description=words, speed=speed)
            elif event["kind"] == "epoch":
                score = event["validation"].get(select_by)
                progress.update(task, score="-" if score is None else with_unit(select_by, score), description=title)
            elif event["kind"] == "note":
                progress.console.print(event["sentence"])
            elif event["kind"] == "measure":
                progress.update(task, description=f"measuring {event['of']:,} images")
            elif event["kind"] == "batch" and time.monotonic() - shown > 0.1:
                shown = time.monotonic()
                done = (event["epoch"] - 1) * event["batches"] + event["batch"]
                progress.update(
                    task,
                    description=title,
                    total=event["of"] * event["batches"],
                    completed=done,
                    epoch=f"{event['epoch']}/{event['of']}",
                    loss=f"{event['loss']:.4f}",
                    speed=f"{event['images_per_second']:.0f}",
                )

        yield listen
