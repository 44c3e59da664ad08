"""`fairground watch` as a command: what it prints, how it ends, what it refuses."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.errors import InputError
from fairground.records.store import Store
from tests.patience import PATIENCE
from tests.reporting.fixtures import make_study

#: as from a terminal, also where the tests themselves run in the background and Ctrl-C is ignored
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from fairground.commands.main import main
main()
"""


def call(*words: object):
    result = CliRunner().invoke(app, ["watch", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_it_serves_at_once_and_ctrl_c_ends_it_quietly(tmp_path):
    Store(tmp_path).append_all(make_study(n_seeds=1))
    command = [sys.executable, "-c", PROGRAM, "watch", "--home", str(tmp_path), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = json.loads(process.stdout.readline())["url"]
    assert url.startswith("http://127.0.0.1:")
    with urlopen(url, timeout=PATIENCE) as answer:
        assert b"<h1>" in answer.read()
    # Whatever trains on this machine comes first.
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5)
    # In the middle of drawing a report, too.
    with urlopen(url + "runs", timeout=PATIENCE) as answer:
        assert answer.status == 200
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    told, complaints = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told, complaints) == (0, "", "")


def test_ctrl_c_as_soon_as_the_address_is_printed_ends_it_quietly_too(tmp_path, monkeypatch):
    def interrupt(url: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", interrupt)
    # They would be this process' own.
    monkeypatch.setattr(os, "nice", lambda _: 0)
    result = call("--home", tmp_path, "--port", 0, "--open")
    assert result.exit_code == 0
    assert "http://127.0.0.1:" in result.output


def test_a_port_in_use_and_a_strange_host_are_sentences(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is in use"):
            call("--home", tmp_path, "--port", port)
    for host in ("no.such.host.invalid", "a..b"):
        with pytest.raises(InputError, match=f"cannot listen on {re.escape(host)}"):
            call("--home", tmp_path, "--host", host)
    assert call("--port", "99999").exit_code == 2
