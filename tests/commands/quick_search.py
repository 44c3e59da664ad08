"""A small recommendation in seconds: few rows of features, everything in this process, on a clock of its own."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.commands import app, recommend
from fairground.recommendation.time_budget import Budget


def call(*words: object) -> Any:
    """Return what `fairground recommend` makes of these words."""
    return CliRunner().invoke(app, ["recommend", *map(str, words)])


def ticking(seconds: float, *, tick: float) -> Budget:
    """Return a budget whose clock advances by `tick` seconds whenever it is read, however busy the machine is."""
    ticks = itertools.count()
    return Budget(seconds, now=lambda: tick * next(ticks))


def use_ticking(monkeypatch: pytest.MonkeyPatch, *, tick: float = 0.05) -> None:
    """Let `fairground recommend` go by a ticking clock."""
    monkeypatch.setattr(recommend, "Budget", lambda seconds: ticking(seconds, tick=tick))


def write_features(path: Path, *, n_noise: int = 0, spread: float = 1.6) -> Path:
    """Write twelve classes of eight rows, each around a centre; `n_noise` loud dimensions say nothing of the class."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(12, 16))
    rows = np.repeat(centres, 8, axis=0) + spread * generator.normal(size=(96, 16))
    noise = 6 * generator.normal(size=(96, n_noise))
    np.savez(path, features=np.hstack([rows, noise]).astype(np.float32), labels=np.arange(96) // 8)
    return path
