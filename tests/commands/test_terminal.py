"""What is printed where streams are closed, broken, chatty or read by a program."""

import builtins
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairground.__main__ import main
from tests.patience import PATIENCE, python
from tests.training.tiny import tiny_words


def fairground(*words: str, cwd: Path) -> subprocess.CompletedProcess:
    return python("-m", "fairground", *words, cwd=cwd)


@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", ">&- 2>&-"])
def test_a_reader_who_goes_away_or_never_was_there_leaves_no_traceback(closed, tmp_path):
    command = f"{sys.executable} -m fairground list losses {closed} | head -1"
    told = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=True)
    assert told.stderr == b""
    assert bool(told.stdout) == (">&-" not in closed.split())


def test_what_pillow_logs_is_not_printed():
    program = "import fairground.loading.decoding, logging; logging.getLogger('PIL.TiffImagePlugin').error('odd')"
    assert "odd" not in python("-c", program, check=True).stderr


def test_a_class_of_others_that_prints_does_not_spoil_the_json(tmp_path):
    (tmp_path / "chatty.py").write_text(
        "import os\nfrom fairground.losses.triplet import TripletLoss\nprint('hello')\n"
        "class ChattyLoss(TripletLoss):\n"
        "    def __init__(self, **settings):\n"
        "        os.write(1, b'hello from below')\n"
        "        super().__init__(**settings)\n"
    )
    words = tiny_words("loss=chatty:ChattyLoss", "training.epochs=1", "training.batches_per_epoch=1")
    told = fairground("train", *words, "--json", "--home", "home", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["state"] == "done"
    assert "hello\n" in told.stderr
    assert "hello from below" in told.stderr


def test_ctrl_c_while_the_command_is_imported_is_no_traceback(monkeypatch):
    def interrupt(name, *_):
        if name == "fairground.commands.main":
            raise KeyboardInterrupt
        return imported(name, *_)

    imported = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", interrupt)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
