"""How each command line of the docs is tested: run as printed, run without its training, or only parsed.

Commands that take minutes are run up to the training: `train` gets `--dry-run`, which loads the protocol and every
override; a study is planned instead of run.
"""

import re
import shlex
import tomllib
from dataclasses import dataclass
from typing import Literal

import typer
from typer.testing import CliRunner

from fairground.commands.main import app
from tests.docs.blocks import ROOT

Kind = Literal["run", "dry", "parsed", "other"]
#: commands that take minutes or never end are only parsed
LONG = ("demo", "reproduce", "recommend", "watch")
#: files that do not exist here; `train --dry-run` does not need them
NOT_HERE = (
    *("CUB_200_2011", "part_of_cub", "results.csv", "history.csv", "/data/runs", "other_machine.zip"),
    *("new_photos", "a.jpg", "~/Downloads/resnet50-0676ba61.pth", "package", "resnet50-0676ba61.pth"),
)
#: other programs that a page may name
PROGRAMS = ("ray", "npm", "tar", "ssh", "tensorboard", "mlflow", "wandb")


@dataclass(frozen=True, kw_only=True)
class Treated:
    """One command line: what is done with it, and its arguments."""

    line: str
    kind: Kind
    words: tuple[str, ...] = ()


def treat(line: str, *, is_check_only: bool = False) -> Treated:
    """Return what is to be done with a line, which must be a known command."""
    words = shlex.split(line, comments=True)
    if words[0] == "torchrun":
        words = ["fairground", *words[words.index("fairground") + 1 :]]
    if words[0] != "fairground":
        check_other(words)
        return Treated(line=line, kind="other")
    words = words[1:]
    if words[0] == "train":
        return Treated(line=line, kind="dry", words=(*words, "--dry-run"))
    is_long = words[0] in LONG or (words[:2] == ["data", "get"] and len(words) > 2)
    if is_check_only or is_long or any(word.rstrip("/") in (*NOT_HERE, "--measure") for word in words):
        return Treated(line=line, kind="parsed", words=tuple(words))
    if words[0] == "study" and words[1] not in ("list", "status"):
        rest = [word for word in words[1:] if word not in ("plan", "run", "resume", "--pilot")]
        return Treated(line=line, kind="dry", words=("study", "plan", *rest))
    return Treated(line=line, kind="run", words=tuple(words))


def lines_of(text: str) -> list[str]:
    """Return the command lines of a block: no comments, no empty lines, lines that go on joined."""
    joined = text.replace("\\\n", " ")
    return [line for line in joined.splitlines() if shlex.split(line, comments=True)]


def carry_out(treated: Treated) -> str:
    """Run or parse a line and return its output; anything but success is an error."""
    if treated.kind == "other":
        return ""
    if treated.kind == "parsed":
        parse(treated.words)
        return ""
    result = CliRunner().invoke(app, list(treated.words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, f"{treated.line}\n{result.output}"
    return result.output


def parse(words: tuple[str, ...]) -> None:
    """Parse the arguments: an unknown option or a missing argument is an error."""
    command, rest, path = typer.main.get_command(app), list(words), "fairground"
    while hasattr(command, "commands"):
        assert rest, f"{path} needs a command"
        assert rest[0] in command.list_commands(None), f"no command '{path} {rest[0]}'"
        path, command = f"{path} {rest[0]}", command.get_command(None, rest.pop(0))
    command.make_context(path, rest)


def check_other(words: list[str]) -> None:
    """Check that the targets, files, modules and extras named in another command exist."""
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), words
    elif words[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for named in re.findall(r"fairground\[(.+?)\]", " ".join(words)):
            assert set(named.split(",")) <= set(extras), words
    elif words[:2] == ["python", "-m"]:
        path = ROOT / words[2].replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), words
        assert len(words) < 4 or words[3].startswith("-") or (path / f"{words[3]}.py").is_file(), words
    elif words[0] == "python":
        assert (ROOT / words[1]).is_file(), words
    else:
        assert words[0] in PROGRAMS, f"unknown program: {' '.join(words)}"
