"""Every command's help shows an example, and every example works."""

import pytest

from fairground_site.commands import commands, examples
from tests.docs.commands import treat
from tests.docs.conftest import Worker

SHOWN = [(path, line) for path, command in commands() for line in examples(command)]


@pytest.mark.parametrize("path", [path for path, _ in commands()])
def test_help_has_an_example(path: str) -> None:
    shown = [line for command, line in SHOWN if command == path]
    assert any(path.removeprefix("fairground ") in line for line in shown), f"`{path} --help` shows no example"


@pytest.mark.parametrize("line", [line for _, line in SHOWN])
def test_the_example_works(line: str, work: Worker) -> None:
    work(treat(line))
