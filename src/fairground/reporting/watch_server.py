"""The server of `fairground watch`: read-only, and only for the hosts it was asked to serve.

Requests for another host name are refused, so that no other page in the browser can read these by DNS rebinding.
"""

import errno
import hashlib
import ipaddress
import socket
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from fairground.reporting import InputError, Watch


class WatchServer(ThreadingHTTPServer):
    """Serves the pages of a watch at one address, for reading only."""

    daemon_threads = True

    def __init__(self, host: str, port: int, watch: Watch) -> None:
        self.watch, self.host = watch, host
        try:
            self.address_family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError, UnicodeError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                raise InputError(f"port {port} is in use: choose another with --port, or --port 0 for any") from error
            raise InputError(f"cannot listen on {host}, port {port}: {error}") from error

    @property
    def url(self) -> str:
        shown = socket.gethostname() if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.server_port}/"

    @property
    def is_local(self) -> bool:
        return ipaddress.ip_address(str(self.server_address[0]).partition("%")[0]).is_loopback

    def knows(self, header: str) -> bool:
        """Tell whether a Host header names this machine; a numeric address cannot be rebound."""
        with suppress(ValueError):
            name = urlsplit(f"//{header}").hostname or ""
            own = ("localhost", self.host.lower(), socket.gethostname().lower())
            return name in own or bool(ipaddress.ip_address(name.partition("%")[0]))
        return False

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore it: a reader may close the window while a page is being sent."""


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    server_version, sys_version = "fairground", ""
    #: seconds without a byte after which a connection is closed; http.server bounds lines and headers
    timeout = 15

    def do_GET(self) -> None:
        if not self.server.knows(self.headers.get("Host", "")):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, f"Unknown host name. Open {self.server.url}")
            return
        page = self.server.watch.page(self.path.partition("?")[0].removeprefix("/"))
        if page is None:
            self._send(HTTPStatus.NOT_FOUND, "There is no such page. The overview at / lists all.")
        else:
            self._send(HTTPStatus.OK, page, kind="text/html")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send(self, status: HTTPStatus, text: str, *, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()[:16]}"')
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
        """Print nothing per request."""
