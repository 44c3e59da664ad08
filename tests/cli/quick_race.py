"""A small recommendation in seconds: few rows of features, everything in this process."""

from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from fairground.cli.main import app


def call(*words: object) -> Any:
    """Return what `fairground recommend` makes of these words."""
    return CliRunner().invoke(app, ["recommend", *map(str, words)])


def write_features(path: Path, *, n_noise: int = 0, spread: float = 1.6) -> Path:
    """Write twelve classes of eight rows, each around a centre; `n_noise` loud dimensions say nothing of the class."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(12, 16))
    rows = np.repeat(centres, 8, axis=0) + spread * generator.normal(size=(96, 16))
    noise = 6 * generator.normal(size=(96, n_noise))
    np.savez(path, features=np.hstack([rows, noise]).astype(np.float32), labels=np.arange(96) // 8)
    return path
