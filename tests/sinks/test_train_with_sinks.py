"""`fairground train` with sinks: killed at any moment and resumed, nothing is doubled and no digit moves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from fairground.records.store import Store
from fairground.training.run import run
from tests.sinks import test_sinks
from tests.training.tiny import tiny, tiny_words

N_EPOCHS = 12
#: MLflow lays out a database first, for many seconds: its resume is tested without a process to kill
SINKS = ("tensorboard", "wandb")
SPEC = tiny_words(f"training.epochs={N_EPOCHS}")
QUIET = os.environ | {"OMP_NUM_THREADS": "1"}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "fairground", *words, "--quiet"]


def call(*words: str) -> subprocess.CompletedProcess:
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False, timeout=200, env=QUIET)
    assert done.returncode == 0, done.stderr
    return done


def begin_and_kill(home: Path, sinks: list[str]) -> str:
    """Start a run, and kill it once the first sink has heard of an epoch; return the run's name."""
    process = subprocess.Popen(
        command("train", *SPEC, "--home", str(home), "--threads", "1", *sinks), stdout=subprocess.DEVNULL, env=QUIET
    )
    deadline = time.monotonic() + 150
    while not list(home.glob("tensorboard/*/*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (folder,) = (home / "runs").iterdir()
    return folder.name


def test_a_killed_run_resumes_without_doubling_and_with_the_digits_of_a_run_without_sinks(tmp_path, monkeypatch):
    home = tmp_path / "with sinks"
    sinks = [word for name in SINKS for word in ("--sink", name)]
    name = begin_and_kill(home, sinks)
    told = call("resume", name, "--home", str(home), *sinks)
    assert "warning" not in told.stderr
    record = Store(home).get(name)
    plain = run(tiny(f"training.epochs={N_EPOCHS}"), home=tmp_path / "plain")
    assert record.digits() == plain.digits()
    monkeypatch.setattr(test_sinks, "RUN", test_sinks.introduce(name, record.spec))
    for sink in SINKS:
        found = test_sinks.READ[sink](home)
        assert [epoch for epoch, _ in found["validation/map@r"]] == list(range(N_EPOCHS + 1)), sink
        assert [epoch for epoch, _ in found["train/loss"]] == list(range(1, N_EPOCHS + 1)), sink
