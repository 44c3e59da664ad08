"""Kill a run without warning, anywhere, as often as you like: it ends with the same digits."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


MOMENTS = {
    "after some batches": [("batch", 1), ("batch", 4), ("batch", 7)],
    "while a checkpoint is written": [("fsync", 4), ("fsync", 7), ("fsync", 13)],
    "before a file gets its name": [("rename", 3), ("rename", 6), ("rename", 12)],
    "at random": [("after", random.Random(7).uniform(0.0, 1.0)) for _ in range(3)],
}
KINDS = {
    "miner, scalar beta and momentum": (
        *("loss=margin", "miner=distance_weighted", "optimiser.name=sgd", "optimiser.momentum=0.9"),
    ),
    "schedule, frozen trunk, clipping and averaged weights": (
        *("optimiser.schedule=cosine", "optimiser.warmup_epochs=0.5", "optimiser.frozen_trunk_epochs=1"),
        *("optimiser.clip_norm=0.5", "optimiser.average=0.9", "training.epochs=3"),
    ),
    "frozen stages in a cache": ("training.trainable=last:1", "training.views=3"),
    "proxies and patience": ("loss=arc_face", "training.patience=1", "training.epochs=6"),
}


DEATHS = [("fsync", 2), ("batch", 3), ("fsync", 5), ("batch", 8)]


def test_a_killed_run_ends_with_the_same_digits(tmp_path: Path) -> None:
    # One process for all: loading torch takes longer than a dozen deaths.
    scenarios: dict[str, Any] = {"undisturbed": ((), [])}
    scenarios |= {moment: ((), deaths) for moment, deaths in MOMENTS.items()}
    for kind, overrides in KINDS.items():
        scenarios |= {kind: (overrides, []), f"{kind}, killed": (overrides, DEATHS)}
    command = [sys.executable, "-m", "tests.training.killer", str(tmp_path), json.dumps(scenarios)]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert finished.returncode == 0, finished.stderr
    told = json.loads(finished.stdout)
    for moment in MOMENTS:
        assert told[moment] == told["undisturbed"], moment
    for kind in KINDS:
        assert told[f"{kind}, killed"] == told[kind], kind
