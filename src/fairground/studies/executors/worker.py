"""A worker process: performs the jobs that come through its input and sends back events and outcomes.

Closing its input is the only order it takes: idle, it leaves; at work, its job is interrupted as by Ctrl-C. A driver
that is killed closes the input too, so that no worker is ever left behind.
"""

import os
import pickle
import queue
import signal
import struct
import threading
from typing import Any

from fairground.studies.executors.executor import Outcome, perform

_SIZE = struct.Struct("!Q")


def send(handle: int, message: object) -> None:
    """Write one message to a pipe."""
    data = pickle.dumps(message)
    data = _SIZE.pack(len(data)) + data
    while data:
        data = data[os.write(handle, data) :]


def receive(handle: int) -> Any:
    """Return the next message of a pipe; EOFError once the other end is closed."""
    (size,) = _SIZE.unpack(_read(handle, _SIZE.size))
    return pickle.loads(_read(handle, size))


def _read(handle: int, size: int) -> bytes:
    # Without a buffered reader: its lock, held by a thread, would make the interpreter abort at exit.
    data = bytearray()
    while len(data) < size:
        chunk = os.read(handle, min(size - len(data), 1 << 20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def serve() -> None:
    """Serve until the input ends or an interrupt comes."""
    # Set even if inherited as ignored, as in the background: jobs here must be interruptible all the same.
    signal.signal(signal.SIGINT, _interrupt)
    replies = os.dup(1)
    # What a job prints must not end up between the replies.
    os.dup2(2, 1)
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(orders, busy), daemon=True).start()
    try:
        while (order := orders.get()) is not None:
            busy.set()
            job_id, job, argument = order
            outcome = perform(job_id, job, argument, lambda event: _reply(replies, event))
            busy.clear()
            _reply(replies, outcome)
    except KeyboardInterrupt:
        return


def _listen(orders: "queue.SimpleQueue[Any]", busy: threading.Event) -> None:
    try:
        while True:
            orders.put(receive(0))
    except EOFError:
        orders.put(None)
    if busy.is_set():
        if os.name == "posix":
            # A true signal also wakes a sleeping system call, which `interrupt_main` would wait for.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            import _thread

            _thread.interrupt_main()


def _interrupt(*_: object) -> None:
    """Interrupt the job once: a second time would hit it while it leaves its checkpoint."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _reply(handle: int, message: object) -> None:
    try:
        send(handle, message)
    except OSError:
        # The driver is gone: the run is wanted later, so that it must stop as if interrupted, not as if it failed.
        is_first = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        if is_first and threading.current_thread() is threading.main_thread():
            _interrupt()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if isinstance(message, Outcome):
            send(handle, Outcome(job_id=message.job_id, failure=f"the result of the job cannot be sent: {error}"))


if __name__ == "__main__":
    serve()
