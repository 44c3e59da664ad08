"""The server of a watch: a handful of addresses, each a page in memory. It opens no file and takes no order.

Only GET and HEAD are answered, malformed requests by a sentence. Nothing is kept by the browser, nothing may be framed,
and every page goes out with the policy that lets it ask this server alone.
"""

import json
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from urllib.parse import SplitResult, parse_qs, urlsplit

from fairground.dashboard.access import Access, access_for
from fairground.dashboard.bounded_server import BoundedServer
from fairground.dashboard.page_cache import OVERVIEW, PageCache
from fairground.errors import InputError

_NOTHING = "default-src 'none'; frame-ancestors 'none'"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class WatchServer(BoundedServer):
    """Serves a keeper's pages at one address; `access` says who may read them, and under which URL."""

    def __init__(self, host: str, port: int, keeper: PageCache) -> None:
        self.address_family = _family(host)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(_complaint(host, port, error)) from error
        self.keeper = keeper
        self.access: Access = access_for(host, self.server_port)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a reader who closed the window in the middle of a page is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    raw_requestline: bytes
    server_version, sys_version = "fairground", ""
    #: what a request counts as before it has said so: of 0.9 the answer would have no status and no headers
    default_request_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """Answer with a page, with its state, or with why not."""
        self.server.extend(self.connection)
        access = self.server.access
        parts, hosts = _split(self.path), self.headers.get_all("Host", [])
        if parts is None or len(hosts) > 1:
            self._refuse(HTTPStatus.BAD_REQUEST, "This is no address of a page here. All pages are listed on /")
            return
        named = [*(hosts or [""]), *([parts.netloc] if parts.netloc else [])]
        if not all(map(access.knows, named)):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, f"This is not the server you asked for. Open {_bare(access)}")
            return
        asked = parse_qs(parts.query, max_num_fields=8) if parts.query.count("&") < 8 else {}
        token = asked.get("token", [None])[0]
        if not access.admits(token=token, cookies=self.headers.get("Cookie")):
            self._refuse(HTTPStatus.FORBIDDEN, "A token is needed: open the address that fairground watch printed.")
        elif token is not None and access.token is not None:
            self._keep(access, parts.path)
        elif parts.path == "/state.json":
            self._send_state(asked.get("page", [""])[0])
        else:
            self._send_page(parts.path)

    def do_HEAD(self) -> None:
        """Answer as to GET, without the page."""
        self.do_GET()

    def parse_request(self) -> bool:
        """Refuse whatever asks for more than reading, and at once what may have no headers to wait for."""
        words = self.raw_requestline.split()
        if len(words) < 3 or words[-1] == b"HTTP/0.9":
            self.requestline, self.command, self.request_version = "", "", self.default_request_version
            self.send_error(HTTPStatus.BAD_REQUEST)
            return False
        is_understood = super().parse_request()
        if is_understood and self.command not in ("GET", "HEAD"):
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD are answered here.", Allow="GET, HEAD")
            return False
        return is_understood

    def _send_page(self, path: str) -> None:
        slug = OVERVIEW if path == "/" else path.removeprefix("/")
        served = self.server.keeper.page(slug) if path != f"/{OVERVIEW}" else None
        if served is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such page here. All pages are listed on the first: /")
            return
        self._send(HTTPStatus.OK, served.body, "text/html", served.policy, ETag=f'"{served.version}"')

    def _send_state(self, slug: str) -> None:
        state = self.server.keeper.state(slug)
        if state is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such page here.")
            return
        self._send(HTTPStatus.OK, json.dumps(state).encode(), "application/json", _NOTHING)

    def _keep(self, access: Access, path: str) -> None:
        """Move the token into a cookie, out of the address bar, of histories and of what is copied from there."""
        cookie = f"{access.cookie}={access.token}; Path=/; HttpOnly; SameSite=Strict"
        # One slash exactly: two would name another host.
        where = "/" + path.lstrip("/\\")
        self._send(HTTPStatus.SEE_OTHER, b"", "text/plain", _NOTHING, **{"Location": where, "Set-Cookie": cookie})

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what cannot be understood in our own words, with the headers of all other answers."""
        self.close_connection = True
        self._refuse(HTTPStatus(code), f"This request cannot be answered: {HTTPStatus(code).phrase}.")

    def _refuse(self, status: HTTPStatus, sentence: str, **headers: str) -> None:
        self._send(status, f"{sentence}\n".encode(), "text/plain", _NOTHING, **headers)

    def _send(self, status: HTTPStatus, body: bytes, kind: str, policy: str, **headers: str) -> None:
        self.send_response(status)
        sent = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)), **_HEADERS}
        for name, value in {**sent, "Content-Security-Policy": policy, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
        """Keep the terminal for what matters."""


def _split(target: str) -> SplitResult | None:
    """Return the parts of a request's target; None for what is none, such as an open bracket."""
    try:
        return urlsplit(target)
    except ValueError:
        return None


def _family(host: str) -> socket.AddressFamily:
    try:
        return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host takes a name or address of this machine; '{host}' is none ({error})") from error


def _bare(access: Access) -> str:
    return access.url.partition("?")[0]


def _complaint(host: str, port: int, error: Exception) -> str:
    import errno

    code = getattr(error, "errno", None)
    if code == errno.EADDRINUSE:
        return f"port {port} is in use, perhaps by another watch: choose one with --port, or --port 0 for any free one"
    if code == errno.EADDRNOTAVAIL:
        return f"--host takes a name or address of this machine; '{host}' is another's"
    if code == errno.EACCES:
        return f"port {port} is not for ordinary users: choose one above 1023 with --port"
    return f"cannot listen on {host} port {port}: {error}"
