"""`fairground train` with a logger: killed at any moment and resumed, nothing is doubled and no digit moves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fairground.records.store import Store
from fairground.training.run import run
from tests.patience import PATIENCE
from tests.training.tiny import tiny, tiny_words

#: the lightest of the loggers; that the others take up a run again is tested without a process to kill
LOGGER = ("--logger", "tensorboard")
N_EPOCHS = 6
SPEC = tiny_words(f"training.epochs={N_EPOCHS}")
QUIET = os.environ | {"OMP_NUM_THREADS": "1"}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "fairground", *words, "--quiet"]


def call(*words: str) -> subprocess.CompletedProcess:
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False, timeout=PATIENCE, env=QUIET)
    assert done.returncode == 0, done.stderr
    return done


def begin_and_kill(home: Path) -> str:
    """Start a run, and kill it once the logger has heard of an epoch; return the run's name."""
    process = subprocess.Popen(
        command("train", *SPEC, "--home", str(home), "--threads", "1", *LOGGER), stdout=subprocess.DEVNULL, env=QUIET
    )
    deadline = time.monotonic() + PATIENCE
    while not list(home.glob("tensorboard/*/*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (folder,) = (home / "runs").iterdir()
    return folder.name


def test_a_killed_run_resumes_without_doubling_and_with_the_digits_of_a_run_without_loggers(tmp_path):
    home = tmp_path / "with loggers"
    name = begin_and_kill(home)
    news = call("resume", name, "--home", str(home), *LOGGER)
    assert "warning: the logger" not in news.stderr
    plain = run(tiny(f"training.epochs={N_EPOCHS}"), home=tmp_path / "plain")
    assert Store(home).get(name).digits() == plain.digits()
    found = EventAccumulator(str(home / "tensorboard" / name))
    found.Reload()
    assert [event.step for event in found.Scalars("validation/map@r")] == list(range(N_EPOCHS + 1))
    assert [event.step for event in found.Scalars("train/loss")] == list(range(1, N_EPOCHS + 1))
    assert len(found.Scalars("final/test/map@r")) == 1
