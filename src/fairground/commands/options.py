"""Options that several commands share, and where runs are kept."""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from fairground.commands.terminal import prints_on_stderr
from fairground.errors import require

#: the folder that is used when neither the caller nor the environment names one
DEFAULT_HOME = Path("fairground-runs")
#: the environment variable that names another one
VARIABLE = "FAIRGROUND_HOME"


def home_folder(home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that was named, the one of the environment, or the default, in this order."""
    return Path(os.environ.get(VARIABLE) or DEFAULT_HOME) if home is None else Path(home)


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
