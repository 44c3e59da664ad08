"""Options that several commands share."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from fairground.api.home import DEFAULT_HOME, VARIABLE
from fairground.api.terminal import prints_on_stderr
from fairground.errors import require


def _no_file(home: Path) -> Path:
    require(not home.is_file(), f"--home must name a folder; '{home}' is a file")
    return home


#: where runs live unless said otherwise
HOME = DEFAULT_HOME
Home = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar=VARIABLE,
        callback=_no_file,
        help="Where runs and their records live; the variable sets it for good.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for another program instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing while working.")]
Loggers = Annotated[
    list[str] | None,
    typer.Option("--logger", help="Also log to tensorboard, wandb (offline) or mlflow; may be given several times."),
]
WithDoctor = Annotated[
    bool,
    typer.Option(
        "--doctor/--no-doctor",
        help="Watch training for signs of illness, such as collapse, and say what to do. Changes no digit of the run.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="Processor threads to use (default: all cores). Part of what fixes the digits."
    ),
]


def kept_for_json(as_json: bool) -> AbstractContextManager[None]:
    """Keep what a program reads for the JSON: what classes of others print meanwhile goes to the error stream."""
    return prints_on_stderr() if as_json else nullcontext()
