"""Collections with pictures that cannot be read: refused with a list, or done without them when the user says so."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

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
    from fairground.deploy.inputs import listed, unreadable, without

    faults = unreadable(inputs, lambda done, of: tell("looking for unreadable pictures", done, of))
    rest = without(inputs, faults)
    if faults:
        print(f"left out: {listed(faults)}", file=sys.stderr)
    return rest


@contextmanager
def refusing_with_a_list(inputs: "EmbeddingInputs", tell: Tell) -> Iterator[None]:
    """Where one picture cannot be read, look for all of them, so that the user hears once and not one by one."""
    from fairground.deploy.inputs import listed, unreadable
    from fairground.errors import DataError

    try:
        yield
    except DataError as error:
        faults = unreadable(inputs, lambda done, of: tell("looking for unreadable pictures", done, of))
        if not faults:
            raise
        words = f"of {len(inputs)} pictures {listed(faults)}"
        raise DataError(f"{words}\nMove them away, or pass --skip-unreadable.") from error
