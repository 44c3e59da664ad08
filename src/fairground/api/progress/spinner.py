"""A spinner on a terminal while something is made that cannot be counted, and nothing elsewhere."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def spinner(words: str, *, is_quiet: bool) -> AbstractContextManager[Any]:
    """Return a context that shows the words while it lasts."""
    if is_quiet or not sys.stderr.isatty():
        return nullcontext()
    from fairground.api.terminal import console

    return console().status(words)
