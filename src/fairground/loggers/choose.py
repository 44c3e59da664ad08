"""A logger by its name; its package is looked for before anything starts."""

import importlib.util
from pathlib import Path
from typing import Literal, get_args

from fairground.errors import require
from fairground.loggers.logger import Introduction, RunLogger
from fairground.spec.catalogue import nearest

LoggerName = Literal["tensorboard", "wandb", "mlflow"]
NAMES: tuple[str, ...] = get_args(LoggerName)


def checked(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names once each; refuse an unknown one and one whose package is missing."""
    for name in names:
        require(name in NAMES, f"no logger '{name}'.{nearest(name, NAMES)} There are: {', '.join(NAMES)}.")
        is_there = importlib.util.find_spec(name) is not None
        require(is_there, f"the logger {name} needs a package that is not installed: pip install 'fairground[{name}]'")
    return tuple(dict.fromkeys(names))


def logger_named(name: str, run: Introduction, home: Path) -> RunLogger:
    """Return the logger called `name` for one run, ready to write."""
    # Imported only when asked for: each is an extra, and takes seconds to import.
    if name == "tensorboard":
        from fairground.loggers.tensorboard import TensorboardLogger

        return TensorboardLogger(run, home)
    if name == "wandb":
        from fairground.loggers.wandb import WandbLogger

        return WandbLogger(run, home)
    from fairground.loggers.mlflow import MlflowLogger

    return MlflowLogger(run, home)
