"""Where runs and their records live, unless the caller says otherwise."""

import os
from pathlib import Path

#: the folder that is used when neither the caller nor the environment names one
DEFAULT_HOME = Path("fairground-runs")
#: the environment variable that names another one
VARIABLE = "FAIRGROUND_HOME"


def home_folder(home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that was named, the one of the environment, or the default, in this order."""
    return Path(os.environ.get(VARIABLE) or DEFAULT_HOME) if home is None else Path(home)
