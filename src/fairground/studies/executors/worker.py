"""A worker process: reads jobs as JSON lines, performs them one after another, writes what they tell and return.

Closing its input is the only order it takes, and the only one it needs: idle, it leaves; at work, its job is
interrupted as by Ctrl-C. A driver that is killed closes the input too, so no worker is ever left behind.
"""

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from fairground.studies.executors.job import perform


def serve() -> None:
    """Serve until the input ends or an interrupt comes."""
    # Set even if inherited as ignored, as in the background: jobs here must be interruptible all the same.
    signal.signal(signal.SIGINT, _interrupt)
    if os.name == "posix":
        # A process started from one of Ray's threads inherits that they let no signal through.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    replies = os.dup(1)
    # What a job prints must not end up between the replies.
    os.dup2(2, 1)
    jobs: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(jobs, busy), daemon=True).start()
    try:
        while (order := jobs.get()) is not None:
            busy.set()
            reply = perform(order["job"], order["argument"], lambda event: _send(replies, {"event": event}))
            busy.clear()
            _send(replies, reply)
    except KeyboardInterrupt:
        return


def _listen(jobs: "queue.SimpleQueue[dict[str, Any] | None]", busy: threading.Event) -> None:
    for line in _lines(0):
        jobs.put(json.loads(line))
    jobs.put(None)
    if busy.is_set():
        _interrupt_main()


def _interrupt(*_: object) -> None:
    """Interrupt the job once: a second time would hit it while it leaves its checkpoint."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _interrupt_main() -> None:
    if os.name == "posix":
        # A true signal also wakes a sleeping system call, which `interrupt_main` would wait for.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()


def _lines(handle: int) -> Iterator[bytes]:
    """Yield lines without a buffered reader: its lock, held by a thread, would make the interpreter abort at exit."""
    rest = b""
    while chunk := os.read(handle, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _send(handle: int, message: Mapping[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    try:
        while data:
            data = data[os.write(handle, data) :]
    except OSError:
        # Nobody listens any more: the run is wanted later, so it must stop as if interrupted, not as if it failed.
        is_first = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        if is_first and threading.current_thread() is threading.main_thread():
            _interrupt()


if __name__ == "__main__":
    serve()
    sys.exit(0)
