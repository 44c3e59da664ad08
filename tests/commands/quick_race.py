"""A small recommendation in seconds: few rows of features, everything in this process."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.recommendation.budget import Budget
from fairground.recommendation.recommendation import Recommendation


def call(*words: object) -> Any:
    """Return what `fairground recommend` makes of these words."""
    return CliRunner().invoke(app, ["recommend", *map(str, words)])


def measure_at_least(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, stop the clock of the race until `n` methods have been measured."""
    measured: list[str] = []
    measure, has_room = Recommendation._measure, Budget.has_room

    def counting(self: Recommendation, candidate: Any, repeat: int) -> Any:
        found = measure(self, candidate, repeat)
        measured.append(candidate.label)
        return found

    monkeypatch.setattr(Recommendation, "_measure", counting)
    monkeypatch.setattr(Budget, "has_room", lambda self, *asked: len(measured) < n or has_room(self, *asked))


def write_features(path: Path, *, n_noise: int = 0, spread: float = 1.6) -> Path:
    """Write twelve classes of eight rows, each around a centre; `n_noise` loud dimensions say nothing of the class."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(12, 16))
    rows = np.repeat(centres, 8, axis=0) + spread * generator.normal(size=(96, 16))
    noise = 6 * generator.normal(size=(96, n_noise))
    np.savez(path, features=np.hstack([rows, noise]).astype(np.float32), labels=np.arange(96) // 8)
    return path
