"""The folder of a worker without its driver's disk: gone with its owner, at once or when the next one comes."""

import os
import subprocess
import sys
import tempfile

import pytest

from fairground.studies.executors.away_folder import away_folder

OWNER = """
import sys
from fairground.studies.executors.away_folder import away_folder
with away_folder() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_goes_with_its_owner_and_one_in_use_stays(temporary):
    with away_folder() as first:
        (first / "checkpoint").write_text("all there is")
        with away_folder() as second:
            assert first != second
            assert (first / "checkpoint").exists()
    assert list(temporary.iterdir()) == []


def test_what_a_killed_owner_leaves_is_swept_by_the_next(temporary):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary), "TEMP": str(temporary)},
    )
    with owner:
        left = temporary / owner.stdout.readline().strip()
        with away_folder():
            assert left.exists()
        owner.kill()
    assert left.exists()
    with away_folder() as folder:
        assert list(temporary.iterdir()) == [folder]


def test_what_may_be_about_to_be_used_or_leads_elsewhere_is_left_alone(temporary):
    new = temporary / "fairground-away-new"
    new.mkdir()
    (new / "owner.lock").touch()
    elsewhere = temporary / "precious"
    elsewhere.mkdir()
    (elsewhere / "owner.lock").write_text("process 1")
    (temporary / "fairground-away-link").symlink_to(elsewhere)
    with away_folder():
        pass
    assert new.exists()
    assert (elsewhere / "owner.lock").read_text() == "process 1"
