"""The run directory: the one given, that of $FAIRGROUND_HOME, or the default."""

import os
import shlex
from pathlib import Path
from typing import Annotated

#: the run directory, unless the caller or the environment names one
HOME = Path("fairground-runs")
_VARIABLE = "FAIRGROUND_HOME"
AnyPath = str | os.PathLike[str]


def home_folder(home: AnyPath | None = None) -> Path:
    return Path(os.environ.get(_VARIABLE) or HOME) if home is None else Path(home)


def home_argument(home: Path) -> str:
    return "" if home == HOME else f" --home {shlex.quote(str(home))}"


_HOME = ("Directory for runs and results.", {"envvar": _VARIABLE, "file_okay": False})
Home = Annotated[Path, *_HOME]
#: the same for a function of Python
AnyHome = Annotated[AnyPath | None, *_HOME]
