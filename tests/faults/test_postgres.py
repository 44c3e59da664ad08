"""The book of a search on a real PostgreSQL server: the numbers of the embedded one, and one driver at a time."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairground.errors import StoreError
from fairground.studies.trial_store import TrialStore
from tests.faults.postgres import postgres
from tests.patience import PATIENCE
from tests.studies.test_run_study import digits, small, study_results

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from fairground.studies.trial_store import TrialStore
store = TrialStore(sys.argv[1], study="00ab")
with store.locked():
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with postgres() as found:
        yield found


def test_a_study_on_a_server_is_the_study_in_a_file(url: str, tmp_path: Path) -> None:
    study = small()
    study = dataclasses.replace(study, search=dataclasses.replace(study.search, trials=6, startup=3))
    assert digits(study_results(study, tmp_path / "server", storage=url)) == digits(
        study_results(study, tmp_path / "file")
    )
    again = study_results(study, tmp_path / "server", storage=url)
    assert sum(len(result.trials) for result in again) == 6 * len(again), "a finished search asks nothing anew"


def test_a_killed_driver_lets_go_of_the_book(url: str) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, url], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    trial_store = TrialStore(url, study="00ab")
    with pytest.raises(StoreError, match="study 00ab is being searched by another driver"), trial_store.locked():
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with trial_store.locked():
                break
        except StoreError:
            assert time.monotonic() < deadline, "the server never noticed that the driver was gone"
            time.sleep(0.1)
    trial_store.close()


def test_a_server_that_is_not_there_is_a_sentence_without_the_password() -> None:
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with pytest.raises(StoreError, match=r"cannot open the search at postgresql\+psycopg://...@/none") as told:
        TrialStore("postgresql+psycopg://me:secret@/none?host=/nowhere", study="00ab")
    assert "secret" not in str(told.value)
