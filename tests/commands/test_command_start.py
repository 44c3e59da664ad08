"""A time limit counts from the start of the process, where that is the command."""

import subprocess
import sys
import time

import pytest

from fairground.commands import command_start

PROGRAM = """
import time
time.sleep(0.6)
from fairground.commands.command_start import command_start, note_start
without = time.monotonic() - command_start()
note_start()
print(without, time.monotonic() - command_start())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_command_begins_with_its_process():
    begun = time.monotonic()
    output = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout
    waited = time.monotonic() - begun
    without, noted = map(float, output.split())
    # The sleep is counted after the note alone, however long the machine takes for all else.
    assert noted - without > 0.55
    assert 0.55 < noted < waited + 0.1


def test_a_process_long_at_work_begins_a_command_when_it_is_called(monkeypatch):
    monkeypatch.setattr(command_start, "_BEGUN", [])
    monkeypatch.setattr(command_start, "process_age", lambda: 3600.0)
    before = time.monotonic()
    command_start.note_start()
    assert before <= command_start.command_start() <= time.monotonic()


def test_where_the_system_does_not_say_the_age_is_nothing(monkeypatch):
    def missing(*_):
        raise OSError

    monkeypatch.setattr(command_start.Path, "read_text", missing)
    assert command_start.process_age() == 0.0
