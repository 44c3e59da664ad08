"""Python's collector of rubbish and thousands of records: it finds none among them and looks again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Collect nothing while records are read: looking takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # To and fro: what was read now counts as old, and is not looked through as soon as collecting begins again.
        gc.freeze()
        gc.unfreeze()
        if was_on:
            gc.enable()


@contextmanager
def passed_over() -> Iterator[None]:
    """Let the collector pass over what was made so far while the block works with it, and look for new rubbish less."""
    first, *further = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(500 * first, *further)
    try:
        yield
    finally:
        gc.set_threshold(first, *further)
        gc.unfreeze()
