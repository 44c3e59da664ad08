"""What is printed cannot steer the terminal it is printed to."""

import builtins
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairground.__main__ import main
from fairground.commands.terminal import CleanStream, cleaned, console
from tests.patience import PATIENCE, python
from tests.training.tiny import tiny_words

ROOT = Path(__file__).parents[2]
EVIL = "evil\x1b]0;owned\x07\x1b[2J"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("größe 日本 🎡", "größe 日本 🎡"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb\x08\x7f\x9b", "a\\x0db\\x08\\x7f\\x9b"),
        ("abc\u202egpj.exe", "abc\\u202egpj.exe"),
        (os.fsdecode(b"caf\xe9"), "caf\\xe9"),
    ],
)
def test_characters_that_a_terminal_obeys_are_shown(text, shown):
    assert cleaned(text) == shown
    stream = io.StringIO()
    print(text, file=CleanStream(stream), end="")
    assert stream.getvalue() == shown


def test_bars_show_names_without_obeying_them(monkeypatch):
    from rich.progress import Progress

    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(console=console()) as bar:
        bar.add_task(EVIL, total=3)
        bar.console.print(EVIL)
    printed = stream.getvalue()
    assert not any(escape in printed for escape in ("\x1b]0", "\x07", "\x1b[2J"))
    assert "\\x1b]0;own" in printed


def fairground(*words: str, cwd: Path) -> subprocess.CompletedProcess:
    return python("-m", "fairground", *words, cwd=cwd)


@pytest.fixture
def photos(tmp_path):
    from PIL import Image

    for label in (EVIL, "good"):
        (tmp_path / "set" / label).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (24, 24), (number * 60, 10, len(label))).save(tmp_path / "set" / label / f"{number}.png")
    (tmp_path / "set" / "good" / f"broken{EVIL}.png").write_bytes(b"not a picture")
    return tmp_path


def test_names_of_classes_files_and_paths_reach_no_terminal_unclean(photos):
    (photos / "table.csv").write_text(f"path,label\nset/{EVIL}.png,a\n")
    checks = [("data", "check", place) for place in ("set", "table.csv")]
    embed = ("embed", f"no{EVIL}model", "set", "--out", "x.npz")
    for words in (*checks, embed, ("train", f"loss={EVIL}"), ("show", EVIL)):
        told = fairground(*words, cwd=photos)
        assert "\x1b" not in told.stdout + told.stderr, words
        assert "\x07" not in told.stdout + told.stderr, words
        assert "Traceback" not in told.stderr, told.stderr


@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", ">&- 2>&-"])
def test_a_reader_who_goes_away_or_never_was_there_leaves_no_traceback(closed, tmp_path):
    command = f"{sys.executable} -m fairground list losses {closed} | head -1"
    told = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=True)
    assert told.stderr == b""
    assert bool(told.stdout) == (">&-" not in closed.split())


FORGED = "bad\nfairground: sound"


def test_no_name_from_outside_is_a_line_of_its_own(photos):
    (photos / "set" / "good" / f"{FORGED}.png").write_bytes(b"not a picture")
    copy = (photos / "set" / "good" / "0.png").read_bytes()
    (photos / "set" / "good" / f"copy{FORGED}.png").write_bytes(copy)
    (photos / "cells.csv").write_text(f'path,label\n"{FORGED}.png",a\n')
    (photos / "splits.csv").write_text(f'path,label,split\nset/good/0.png,a,"{FORGED}"\n')
    (photos / "values.csv").write_text(f'method,seed,value\n"{FORGED}",0,1\n"{FORGED}",0,2\n')
    checks = [("data", "check", place) for place in ("set", "cells.csv", "splits.csv")]
    for words in (*checks, ("compare", "--values", "values.csv")):
        told = fairground(*words, cwd=photos)
        lines = (told.stdout + told.stderr).splitlines()
        assert any("fairground: sound" in line for line in lines), words
        assert not any(line.startswith("fairground: sound") for line in lines), told


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
