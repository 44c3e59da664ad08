"""The run directory: the one given, that of $FAIRGROUND_HOME, or the default."""

import os
import shlex
from pathlib import Path
from typing import Annotated

from fairground.errors import require

#: the run directory, unless the caller or the environment names one
HOME = Path("fairground-runs")
_VARIABLE = "FAIRGROUND_HOME"
AnyPath = str | os.PathLike[str]


def home_folder(home: AnyPath | None = None) -> Path:
    """Return the run directory: the one given, that of the environment, or the default."""
    return Path(os.environ.get(_VARIABLE) or HOME) if home is None else Path(home)


def home_argument(home: Path) -> str:
    """Return the --home that a printed command needs."""
    return "" if home == HOME else f" --home {shlex.quote(str(home))}"


def _not_a_file(home: Path) -> Path:
    require(not home.is_file(), f"--home must name a directory; '{home}' is a file")
    return home


_HOME = ("Directory for runs and results.", {"envvar": _VARIABLE, "callback": _not_a_file})
Home = Annotated[Path, *_HOME]
#: the same for a function of Python
AnyHome = Annotated[AnyPath | None, *_HOME]
