"""The command line's reference, written from the Typer application itself, and the examples in its help."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from fairground_site.markdown import block, code, prose, table

_EXAMPLE = re.compile(r"^(?:Examples?|Try|Or)\b[^:]*: (.+)$")


def command_page() -> str:
    """Return the page of every command, in the order of `fairground --help`."""
    lines = [
        "# Command line\n",
        "Every command, as its `--help` says it. Mistakes end in a sentence and exit code 2.\n",
    ]
    for path, command in commands():
        lines += [f"## {path}\n", *_command(path, command)]
    return "\n".join(lines)


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command that is not a group, with its full name."""
    from fairground.commands.main import app

    yield from _walk("fairground", typer.main.get_command(app))


def examples(command: Any) -> list[str]:
    """Return the command lines that a command's help shows."""
    found: list[str] = []
    for paragraph in _paragraphs(command):
        match = _EXAMPLE.match(paragraph)
        found += [line.strip() for line in match[1].split(" · ")] if match else []
    return found


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    context = typer.Context(command)
    for name in command.list_commands(context):
        yield from _walk(f"{path} {name}", command.get_command(context, name))


def _paragraphs(command: Any) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in (command.help or "").split("\n\n")]


def _command(path: str, command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    yield block(f"{path} {usage}")
    for paragraph in _paragraphs(command):
        if not _EXAMPLE.match(paragraph):
            yield prose(paragraph) + "\n"
    shown = examples(command)
    if shown:
        yield block("\n".join(shown), kind="sh")
    records = [record for parameter in command.params if (record := parameter.get_help_record(context))]
    yield table(["", "meaning"], ([code(name), prose(words)] for name, words in records))
