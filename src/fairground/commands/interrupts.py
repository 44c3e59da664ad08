"""Ctrl-C during training: the first stops after the current batch, the second at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_flag() -> Iterator[Callable[[], bool]]:
    if threading.current_thread() is not threading.main_thread():
        # Signals reach the main thread alone.
        yield lambda: False
        return
    is_asked = False

    def ask(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_asked
        if is_asked:
            raise KeyboardInterrupt
        is_asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: is_asked
    finally:
        signal.signal(signal.SIGINT, before)
