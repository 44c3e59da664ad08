"""A bar for work that is counted: on stderr, in a terminal only, never when quiet."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fairground.api.progress.run_bars import WIDE


@contextmanager
def counted(title: str, *, is_quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes what is being done, how much is done, and of how much."""
    if is_quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from fairground.api.terminal import console

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
