"""What is printed into a terminal of 80 x 24: nothing wider, and something moves."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from tests.commands.quick_search import write_features
from tests.commands.test_commands import fairground
from tests.commands.test_study import STUDY
from tests.datasets.pictures import class_folders

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@contextlib.contextmanager
def terminal(cwd: Path) -> Iterator[list[bytes]]:
    """Give this process a terminal of 80 columns and what it prints there; starting another takes seconds."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    found: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end was closed
            while some := os.read(leader, 65536):
                found.append(some)

    reader = Thread(target=read)
    reader.start()
    kept = [os.dup(number) for number in range(3)]
    try:
        for number in range(3):
            os.dup2(follower, number)
        os.close(follower)
        with pytest.MonkeyPatch.context() as patch:
            for name in ("COLUMNS", "LINES", "FAIRGROUND_HOME"):
                patch.delenv(name, raising=False)
            patch.setenv("TERM", "xterm")
            patch.chdir(cwd)
            for name, number in (("stdout", 1), ("__stdout__", 1), ("stderr", 2)):
                patch.setattr(sys, name, os.fdopen(number, "w", buffering=1, closefd=False))
            yield found
    finally:
        for number, before in enumerate(kept):
            os.dup2(before, number)
            os.close(before)
        reader.join()
        os.close(leader)


def lines_of(*words: str, cwd: Path, code: int = 0) -> list[str]:
    """Return what a command prints into a terminal, line by line as they stood."""
    with terminal(cwd) as found:
        ended = fairground(*words)
    text = _ESCAPES.sub("", b"".join(found).decode(errors="replace"))
    assert ended == code, text
    assert text
    return [line for line in re.split(r"[\r\n]+", text) if line]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    base = ("trunk.widths=[8, 16]", "head.embedding_dim=16", "training.epochs=2", "training.batches_per_epoch=4")
    words = ("data=synthetic", "data.n_classes=16", "data.per_class=8", "data.size=16", "training.batch_size=16", *base)
    shown = {seed: lines_of("train", *words, f"seed={seed}", cwd=folder) for seed in (0, 1)}
    other = lines_of("train", *words, "loss=multi_similarity", cwd=folder)
    return folder, shown[0] + shown[1] + other


def too_wide(lines: list[str]) -> list[str]:
    return [line for line in lines if len(line.rstrip()) > 80]


def test_training_fits_and_measuring_is_shown(place):
    _, lines = place
    assert too_wide(lines) == []
    assert any("epoch 1/2" in line for line in lines)
    assert any("map@r" in line and "%" in line for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        *("list runs", "list losses", "protocol photographs", "compare"),
        *("data check --dataset synthetic", "published mlrc2020/table4", "study list"),
    ],
)
def test_commands_fit(place, words):
    assert too_wide(lines_of(*words.split(), cwd=place[0])) == []


def test_a_model_at_work_fits(place, tmp_path):
    home = ("--home", str(place[0] / "fairground-runs"))
    run = lines_of("list", "runs", *home, cwd=tmp_path)[0].split()[0]
    assert too_wide(lines_of("export", run, "-o", "model", *home, cwd=tmp_path)) == []
    names = [f"a class whose name is long, number {number}" for number in range(4)]
    class_folders(tmp_path / "some pictures", names, per_class=4)
    made = ("embed", "model", "some pictures", "-o", "v.npz"), ("index", "model", "some pictures", "-o", "ix")
    read = ("query", "ix", "some pictures", "-k", "3"), ("data", "check", "some pictures"), ("data", "caches")
    for words in (*made, *read):
        lines = lines_of(*words, cwd=tmp_path)
        assert too_wide(lines) == [], words
        assert words[:2] != ("data", "check") or "some pictures (folder): 16 images of 4 classes" in lines
    refusal = lines_of("train", "optimiser.learning_rates=3", cwd=tmp_path, code=2)
    assert len(refusal) > 1
    assert too_wide(refusal) == []


def test_a_study_its_plan_and_its_status_fit(tmp_path):
    (tmp_path / "mine.toml").write_text(STUDY)
    lines = lines_of("study", "mine.toml", "--executor", "inline", cwd=tmp_path)
    page = [line for line in lines if line.startswith(("page:", "    /"))]
    assert too_wide([line for line in lines if line not in page]) == []
    assert any("selected, validation map@r" in line and "%" in line for line in lines)
    assert too_wide(lines_of("study", "plan", "mine.toml", cwd=tmp_path)) == []
    assert too_wide(lines_of("study", "status", "mine.toml", cwd=tmp_path)) == []


def test_a_recommendation_fits(tmp_path):
    features = write_features(tmp_path / "made.npz")
    lines = lines_of("recommend", features.name, "--time", "4s", cwd=tmp_path)
    assert too_wide([line for line in lines if str(tmp_path) not in line]) == []
    assert any(line.startswith("raw features") for line in lines)
