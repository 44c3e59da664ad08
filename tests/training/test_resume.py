"""Kill a run without warning, anywhere, as often as you like: it ends with the same digits."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def told_after(home: Path, deaths: list[tuple[str, float]], overrides: tuple[str, ...] = ()) -> Any:
    command = [sys.executable, "-m", "tests.training.killer", str(home), json.dumps(overrides), json.dumps(deaths)]
    home.mkdir()
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


MOMENTS = {
    "after some batches": [("batch", 1), ("batch", 4), ("batch", 7)],
    "while a checkpoint is written": [("fsync", 4), ("fsync", 7), ("fsync", 10), ("fsync", 13)],
    "before a file gets its name": [("rename", 3), ("rename", 6), ("rename", 9), ("rename", 12)],
    "at random": [("after", random.Random(7).uniform(0.0, 1.0)) for _ in range(8)],
}
KINDS = {
    "miner, scalar beta and momentum": (
        "loss=margin",
        "miner=distance_weighted",
        "optimiser.name=sgd",
        "optimiser.momentum=0.9",
    ),
    "schedule, frozen trunk, clipping and averaged weights": (
        "optimiser.schedule=cosine",
        "optimiser.warmup_epochs=0.5",
        "optimiser.frozen_trunk_epochs=1",
        "optimiser.clip_norm=0.5",
        "optimiser.average=0.9",
        "training.epochs=3",
    ),
    "proxies and patience": ("loss=arc_face", "training.patience=1", "training.epochs=6"),
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return told_after(tmp_path_factory.mktemp("resume") / "home", [])


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_run_ends_with_the_same_digits(moment: str, undisturbed: Any, tmp_path: Path) -> None:
    assert told_after(tmp_path / "home", MOMENTS[moment]) == undisturbed


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_state_survives(kind: str, tmp_path: Path) -> None:
    deaths = [("batch", 3), ("fsync", 5), ("batch", 8)]
    assert told_after(tmp_path / "killed", deaths, KINDS[kind]) == told_after(tmp_path / "whole", [], KINDS[kind])
