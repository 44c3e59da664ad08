"""Who may read what a watch serves: this machine without a word, anybody else with the token.

A page from elsewhere that is open in the same browser must not read it either. It could ask for our address under a
name of its own that it lets point here (DNS rebinding), so names we do not know are refused before anything else.
"""

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from fairground.errors import InputError

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, kw_only=True)
class Access:
    """`token` is None where only this machine can reach the server."""

    host: str
    port: int
    token: str | None = field(default=None, repr=False)

    @property
    def cookie(self) -> str:
        """The name of the cookie that keeps the token; browsers keep cookies by host and not by port."""
        return f"fairground-{self.port}"

    @property
    def url(self) -> str:
        """The address to open, with the token where one is needed."""
        shown = _reachable(self.host)
        shown = f"[{shown}]" if ":" in shown else shown
        return f"http://{shown}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def knows(self, header: str | None) -> bool:
        """Tell whether a request was meant for us, by its Host header."""
        name = _name_of(header or "")
        if name is None:
            return False
        if self.token is None:
            return name in _LOCAL or _is_loopback_address(name)
        # A number cannot be made to point here by somebody else's name server.
        return _is_address(name) or name in _LOCAL | {self.host.lower(), *_own_names()}

    def admits(self, *, token: str | None, cookies: str | None) -> bool:
        """Tell whether a request may be answered: it needs the token, in the address or the cookie, if there is one."""
        if self.token is None:
            return True
        return any(
            hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.token.encode())
            for given in (token or "", self._kept(cookies))
        )

    def _kept(self, cookies: str | None) -> str:
        try:
            found = SimpleCookie(cookies or "").get(self.cookie)
        except CookieError:
            return ""
        return found.value if found is not None else ""


def access_for(host: str, port: int) -> Access:
    """Return who may read at this address: a token is made unless it is this machine's own alone."""
    return Access(host=host, port=port, token=None if is_loopback(host) else secrets.token_urlsafe(24))


def is_loopback(host: str) -> bool:
    """Tell whether a name or address leads to this machine alone; refuse what leads nowhere."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host or "0.0.0.0", None)}
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host takes a name or address of this machine; '{host}' is none ({error})") from error
    return all(_is_loopback_address(address) for address in found)


def _name_of(header: str) -> str | None:
    """Return the host of a Host header without its port, in small letters; None for what is no host."""
    name = header.strip().lower()
    if name.startswith("["):
        inside, bracket, rest = name[1:].partition("]")
        return inside if bracket and (rest == "" or rest.startswith(":")) else None
    name, _, port = name.partition(":")
    return name if name and (port == "" or port.isdigit()) else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_loopback_address(name: str) -> bool:
    return _is_address(name) and ipaddress.ip_address(name.partition("%")[0]).is_loopback


def _own_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0], f"{name.partition('.')[0]}.local"}


def _reachable(host: str) -> str:
    """Return an address somebody can open where `host` stands for all of them."""
    if not _is_address(host) or not ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        return host
    return socket.gethostname()
