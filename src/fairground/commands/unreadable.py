"""Collections with pictures that cannot be read: refused with a list, or done without them when the user says so."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.options import HOME

if TYPE_CHECKING:
    from fairground.deploy.inputs import EmbeddingInputs

SkipUnreadable = Annotated[
    bool,
    typer.Option(
        "--skip-unreadable",
        help="Leave out pictures that cannot be read, and name them in what is written. Decodes every picture twice.",
    ),
]
Tell = Callable[[str, int, int], None]


def readable(inputs: "EmbeddingInputs", tell: Tell, *, is_asked: bool) -> "EmbeddingInputs":
    """Return a collection without the pictures that cannot be read, if that is asked, and say which they are."""
    if not is_asked:
        return inputs
    from fairground.deploy.unreadable import listed, unreadable, without

    faults = unreadable(inputs, lambda done, of: tell("looking for unreadable pictures", done, of))
    rest = without(inputs, faults)
    if faults:
        print(f"left out: {listed(faults)}", file=sys.stderr)
    return rest


@contextmanager
def stopping_with_a_word(*words: object, **options: bool) -> Iterator[None]:
    """Say after Ctrl-C how to go on: the command of these words and of the options that are set; what is done is kept.

    Every option that decides the result belongs there: without one the work would begin anew.
    """
    try:
        yield
    except KeyboardInterrupt:
        flags = [f"--{name.replace('_', '-')}" for name, is_set in options.items() if is_set]
        command = shlex.join(["fairground", *map(str, words), *flags])
        print(f"stopped; what is done is kept. Go on with the same command:\n  {command}", file=sys.stderr)
        raise typer.Exit(130) from None


def home_words(home: Path) -> tuple[object, ...]:
    """Return the words that name a home where it is not the usual one."""
    return () if home == HOME else ("--home", home)


@contextmanager
def refusing_with_a_list(inputs: "EmbeddingInputs", tell: Tell) -> Iterator[None]:
    """Where one picture cannot be read, look for all of them, so that the user hears once and not one by one."""
    from fairground.deploy.unreadable import listed, unreadable
    from fairground.errors import DataError

    try:
        yield
    except DataError as error:
        faults = unreadable(inputs, lambda done, of: tell("looking for unreadable pictures", done, of))
        if not faults:
            raise
        words = f"of {len(inputs)} pictures {listed(faults)}"
        raise DataError(f"{words}\nMove them away, or say --skip-unreadable. What is done is kept.") from error
