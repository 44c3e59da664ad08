"""One thread per process: tests run side by side, and threads that outnumber the cores wait for one another."""

import os
import signal
import threading

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Ray lets every other process go before its workers; on a busy machine they would not get on at all.
os.environ.setdefault("RAY_worker_niceness", "0")
# A shell's background job is started with Ctrl-C ignored, and so would be everything the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
# An example may take long on a busy machine.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of prepared images, stages and digests that no other test has."""
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
