"""A threaded HTTP server whose connections are few, short and always answered or closed.

`http.server` alone lets a sender of one byte a minute hold a thread for good, starts a thread for everybody who comes,
and has room for five who wait. Deadlines are looked after by the loop that accepts, so that they need no thread.
"""

import socket
import threading
import time
from contextlib import suppress
from http.server import ThreadingHTTPServer
from typing import Any

#: seconds from the first byte until a request must be there, and from then until its answer must be taken
REQUEST_SECONDS, ANSWER_SECONDS = 15.0, 300.0
#: connections at a time; beyond them one that has asked nothing yet is shut, or where there is none the new one
MOST_AT_ONCE = 256
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class BoundedServer(ThreadingHTTPServer):
    """`request_seconds` is how long a request may take to arrive, in all and not between two bytes."""

    daemon_threads = True
    request_queue_size = 1024
    request_seconds = REQUEST_SECONDS

    def __init__(self, *arguments: Any) -> None:
        # When each connection must be done: before its request has arrived, and afterwards. The oldest come first.
        self._arriving: dict[socket.socket, float] = {}
        self._answering: dict[socket.socket, float] = {}
        self._changing = threading.Lock()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own; where there are too many, the oldest that asks nothing has to leave for it."""
        with self._changing:
            if len(self._arriving) + len(self._answering) >= MOST_AT_ONCE and self._arriving:
                oldest = next(iter(self._arriving))
                del self._arriving[oldest]
                _wake(oldest)
            is_full = len(self._answering) >= MOST_AT_ONCE
            if not is_full:
                self._arriving[request] = time.monotonic() + self.request_seconds
        if is_full:
            with suppress(OSError):
                request.settimeout(1)
                request.sendall(_BUSY)
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def extend(self, request: socket.socket) -> None:
        """Give a request that has arrived the time its answer needs."""
        with self._changing:
            if self._arriving.pop(request, None) is not None:
                self._answering[request] = time.monotonic() + ANSWER_SECONDS

    def shutdown_request(self, request: Any) -> None:
        """Forget the deadline and close the connection."""
        with self._changing:
            self._arriving.pop(request, None)
            self._answering.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Shut what is overdue; called by the loop of the server several times a second."""
        now = time.monotonic()
        with self._changing:
            for request, deadline in (self._arriving | self._answering).items():
                if deadline < now:
                    _wake(request)


def _wake(request: socket.socket) -> None:
    """Shut a connection: the thread that reads or writes it is woken, and closes it."""
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)
