"""Read the next block while this one is worked on."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def read_ahead(read: Callable[[Thing], Result], things: Iterable[Thing]) -> Iterator[Result]:
    """Yield `read` of each thing in order; the next one is read in a thread while the caller works on this one."""
    with ThreadPoolExecutor(1, thread_name_prefix="fairground-read") as reader:
        ahead: Future[Result] | None = None
        for thing in things:
            following = reader.submit(read, thing)
            if ahead is not None:
                yield ahead.result()
            ahead = following
        if ahead is not None:
            yield ahead.result()
