"""Files of runs that cannot be read while a page is made: it is made without them, and says so."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fairground.errors import DamageWarning, FairgroundError

_FOUND: ContextVar[list[str] | None] = ContextVar("left_out", default=None)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Yield the list that `leave_out` adds to while the block lasts, each sentence once."""
    found: list[str] = []
    token = _FOUND.set(found)
    try:
        yield found
    finally:
        _FOUND.reset(token)


def leave_out(error: FairgroundError) -> None:
    """Note that a figure is made without a file, for the page and for whoever made it."""
    sentence = f"Left out: {error}"
    found = _FOUND.get()
    if found is None or sentence not in found:
        warnings.warn(sentence, DamageWarning, stacklevel=2)
    if found is not None and sentence not in found:
        found.append(sentence)
