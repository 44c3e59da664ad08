import importlib.util
from pathlib import Path

import pytest


def test_the_walk_by_hand_learns(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "examples" / "walkthrough.py"
    spec = importlib.util.spec_from_file_location("walkthrough", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scores = module.main(n_batches=15)
    told = capsys.readouterr().out
    assert told.startswith("untrained, validation classes")
    assert scores["recall@1"] > 0.4
