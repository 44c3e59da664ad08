"""A whole race in seconds: few rows of features, little training, everything in this process."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.api import recommend
from fairground.cli.main import app
from fairground.execution.inline import InlineExecutor
from fairground.recommend import race, race_plan

SHORT = ("training.epochs=2", "training.batches_per_epoch=3", "evaluation.metrics=['map@r']")


def call(*words: object) -> Any:
    """Return what `fairground recommend` makes of these words."""
    return CliRunner().invoke(app, ["recommend", *map(str, words)])


def write_features(path: Path) -> Path:
    """Write twelve classes of eight rows, each around a centre of its own."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(12, 16))
    rows = np.repeat(centres, 8, axis=0) + 1.6 * generator.normal(size=(96, 16))
    np.savez(path, features=rows.astype(np.float32), labels=np.arange(96) // 8)
    return path


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Race in this process, with a short ending and few seeds: the arithmetic is tested elsewhere."""
    patch.setattr(recommend, "ProcessExecutor", lambda job, workers, watch: InlineExecutor(job, watch=watch))
    patch.setattr(race_plan, "ENDING", 0.5)
    patch.setattr(race, "MOST_SEEDS", 3)
