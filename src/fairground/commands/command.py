"""How a function becomes a command: it declares its options and returns an `Answer`, which is printed here."""

import inspect
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer

from fairground.commands import HOME, AsJson, Verbatim, complain, fitted, prints_on_stderr, screen_width


class Answer(NamedTuple):
    """What a command found: `data` for --json, or what makes it, otherwise `lines`, which may be made while printed.

    `failure` is a sentence for the error stream. An answer without data, of a command that was stopped, prints no JSON.
    """

    data: Any
    lines: Iterable[str] = ()
    failure: str = ""
    exit_code: int = 0


Command = Callable[..., Answer | None]


def options_of(verb: Callable[..., Any]) -> Callable[[Command], Command]:
    """Give a command the options that a function of Python declares; what it does not name arrives in `**options`."""

    def with_options(command: Command) -> Command:
        own = _options(command)
        shared = {name: option for name, option in _options(verb).items() if name not in own}
        vars(command)["options"] = own | shared
        return command

    return with_options


def printed(command: Command) -> Callable[..., None]:
    """Return what typer runs: it takes the options of a command, and --json, and prints the answer.

    With --json, what other libraries print meanwhile goes to the error stream. A command that takes `as_json` itself
    prints as it goes and returns None.
    """
    options: dict[str, inspect.Parameter] = vars(command).get("options") or _options(command)
    prints_itself = "as_json" in options

    def run(*, as_json: bool, **given: Any) -> None:
        given |= {name: () for name, value in given.items() if value is None and options[name].default == ()}
        if "quiet" in given:
            given["quiet"] |= as_json
        if prints_itself:
            command(**given, as_json=as_json)
            return
        with prints_on_stderr() if as_json else nullcontext():
            answer = command(**given)
        if answer is None:
            return
        if as_json and answer.data is not None:
            print(json.dumps(answer.data() if callable(answer.data) else answer.data))
        if not as_json:
            for line in answer.lines:
                print(line if isinstance(line, Verbatim) else fitted(line.replace("\n", "\\n"), screen_width()))
        if answer.failure:
            complain(answer.failure)
        if answer.exit_code:
            raise typer.Exit(answer.exit_code)

    json_option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
    every = {**options, "as_json": json_option}.values()
    vars(run)["__signature__"] = inspect.Signature([_on_command_line(option) for option in every])
    run.__doc__, run.__annotations__ = command.__doc__, {}
    return run


def _options(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters
    return {name: one for name, one in parameters.items() if get_origin(one.annotation) is Annotated}


def _on_command_line(option: inspect.Parameter) -> inspect.Parameter:
    """Return an option as typer takes it: with one type, or a list of one.

    It is declared as `Annotated[type, names, help, settings]`. Without names it is called like the parameter; a name
    without a hyphen is the placeholder of an argument; `settings` are further ones of typer, if any.
    """
    kind, *notes = get_args(option.annotation)
    settings = notes.pop() if isinstance(notes[-1], dict) else {}
    *names, text = notes
    declared: Any
    if names and not names[0].startswith("-"):
        declared = typer.Argument(metavar=names[0], help=text, **settings)
    else:
        own = len(option.name) > 1 and not any(name.startswith("--") for name in names)
        declared = typer.Option(*[f"--{option.name.replace('_', '-')}"] * own, *names, help=text, **settings)
    members = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    one = Path if os.PathLike[str] in members else members[0]
    default = HOME if option.name == "home" else option.default
    if get_origin(kind) is Sequence:
        one, members, default = list[str], (None, NoneType), None
    kind = one | None if NoneType in members else one
    return option.replace(annotation=Annotated[kind, declared], default=default, kind=inspect.Parameter.KEYWORD_ONLY)
