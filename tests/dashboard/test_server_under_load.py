"""A watch asked by many at once, slowly, or in words that are no request: everybody is answered or closed in time."""

import re
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

from fairground.dashboard import bounded_server
from fairground.dashboard.pages import Served
from fairground.records.store import Store
from tests.dashboard.watched import watching
from tests.patience import PATIENCE
from tests.records.factory import make_record

CLIENTS, REQUESTS = 50, 2000
REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture
def home(tmp_path) -> Path:
    Store(tmp_path).append(make_record())
    return tmp_path


def status_of(port: int, path: str = "/") -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        found = connection.getresponse()
        found.read()
        return found.status
    finally:
        connection.close()


def answer_to(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        return rest_of(connection)


def rest_of(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def test_fifty_clients_get_two_thousand_answers(home):
    with watching(home) as server, ThreadPoolExecutor(CLIENTS) as clients:
        found = Counter(clients.map(lambda _: status_of(server.server_port), range(REQUESTS)))
    assert found == {200: REQUESTS}


@pytest.mark.parametrize(
    "line",
    [
        b"GET //[ HTTP/1.1",
        b"GET http://[::1 HTTP/1.1",
        b"GET /?" + b"&".join(b"a=%d" % n for n in range(500)) + b" HTTP/1.1",
        b"GET /%zz%00%ff?page=%00 HTTP/1.1",
        b"GET /\xff\xfe\x00 HTTP/1.1",
        b"GET / HTTP/9.9",
        b"GET / HTTP/0.9",
        b"GET / HTTP/1.1.1",
        b"GET / HTP",
        b"GET",
        b"\x16\x03\x01\x02\x00",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1",
        b"G\xc3\x89T / HTTP/1.1",
    ],
)
def test_a_malformed_target_is_answered(home, line):
    with watching(home) as server:
        found = answer_to(server.server_port, line + b"\r\nHost: 127.0.0.1\r\n\r\n")
        assert re.match(rb"HTTP/1\.0 [245]\d\d .*\r\n\r\n.", found, re.DOTALL), "no status, no headers or no sentence"
        assert b"Content-Security-Policy: " in found
        assert b"Traceback" not in found
        assert status_of(server.server_port) == 200


@pytest.mark.parametrize("request_line", [b"\r\n", b"\n", b"GET /\r\n", b"GET\r\n"])
def test_what_has_no_headers_is_answered_without_waiting_for_them(home, request_line):
    with watching(home) as server:
        found = answer_to(server.server_port, request_line)
    assert found.startswith(b"HTTP/1.0 400 ")
    assert b"This request cannot be answered" in found


def test_slow_senders_are_closed_in_time_and_hold_nobody_up(home, monkeypatch):
    monkeypatch.setattr(bounded_server.BoundedServer, "request_seconds", 2.0)
    with watching(home) as server:
        begun = time.monotonic()
        slow = [socket.create_connection(("127.0.0.1", server.server_port), timeout=PATIENCE) for _ in range(30)]
        done = threading.Event()

        def trickle() -> None:
            """Send a byte now and then, so that no connection is ever silent for long."""
            while not done.wait(0.2):
                for connection in slow:
                    try:
                        connection.send(b"G")
                    except OSError:
                        continue

        sender = threading.Thread(target=trickle)
        sender.start()
        try:
            assert status_of(server.server_port) == 200
            for connection in slow:
                try:
                    while connection.recv(1024):
                        pass
                except ConnectionError:
                    pass
            assert time.monotonic() - begun > 1.5
        finally:
            done.set()
            sender.join()
            for connection in slow:
                connection.close()


def test_beyond_the_most_at_once_the_oldest_that_asks_nothing_leaves(home, monkeypatch):
    monkeypatch.setattr(bounded_server, "MOST_AT_ONCE", 3)
    with watching(home) as server:
        held = [socket.create_connection(("127.0.0.1", server.server_port), timeout=PATIENCE) for _ in range(3)]
        assert status_of(server.server_port) == 200
        assert held[0].recv(1) == b""
        for connection in held[1:]:
            connection.sendall(REQUEST)
            assert connection.recv(15) == b"HTTP/1.0 200 OK"
        for connection in held:
            connection.close()


def test_where_all_are_being_answered_one_is_told_to_come_back(home, monkeypatch):
    monkeypatch.setattr(bounded_server, "MOST_AT_ONCE", 3)
    begun, goes_on = threading.Semaphore(0), threading.Event()
    with watching(home) as server, ThreadPoolExecutor(3) as clients:
        page = server.keeper.page

        def wait(slug: str):
            begun.release()
            goes_on.wait(PATIENCE)
            return page(slug)

        monkeypatch.setattr(server.keeper, "page", wait)
        answers = [clients.submit(status_of, server.server_port) for _ in range(3)]
        try:
            assert all(begun.acquire(timeout=PATIENCE) for _ in answers)
            assert answer_to(server.server_port, b"").startswith(b"HTTP/1.0 503 ")
        finally:
            goes_on.set()
        assert [answer.result(PATIENCE) for answer in answers] == [200, 200, 200]


def test_an_answer_that_is_not_taken_is_closed_in_time(home, monkeypatch):
    monkeypatch.setattr(bounded_server, "ANSWER_SECONDS", 0.2)
    body = bytes(64 << 20)
    with watching(home) as server:
        page = Served(kind="report", body=body, version="1", policy="")
        monkeypatch.setattr(server.keeper, "page", lambda slug: page)
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=PATIENCE) as connection:
            connection.sendall(REQUEST)
            assert connection.recv(4) == b"HTTP"
            deadline = time.monotonic() + PATIENCE
            while server._answering:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert len(rest_of(connection)) < len(body)
