import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.conftest import WORDS


def load(name: str):
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_embed_and_search(tmp_path, capsys):
    share = load("embed_and_search").main(tmp_path, *WORDS)
    assert 0.03 < share <= 1
    told = capsys.readouterr().out
    assert "embedded (7853, 16)" in told
    assert "At most 5 % of pictures of unknown classes are given a class" in told


def test_use_exported_model(exported, model, pictures):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'fairground[export]'")
    files = sorted(pictures.rglob("*.png"))[:4]
    found = load("use_exported_model").main(exported, files)
    wanted = np.concatenate([model.embed(path) for path in files])
    assert np.abs(found - wanted).max() < 1e-4
