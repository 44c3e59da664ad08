"""A bar for work that is counted: on stderr, in a terminal only, never when quiet."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counted(title: str, *, is_quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes what is being done, how much is done, and of how much."""
    if is_quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from fairground.api.terminal import console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console()) as bar:
        task = bar.add_task(title, total=None)
        yield lambda what, done, of: bar.update(task, description=what or title, completed=done, total=of)
