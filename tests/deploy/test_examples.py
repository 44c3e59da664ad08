import importlib.util
from pathlib import Path

import numpy as np
import pytest

from fairground.datasets.folder import FolderDataset
from fairground.transforms.mlrc2020 import Mlrc2020Transform
from fairground.trunks.efficientnet_lite0 import EfficientnetLite0Trunk
from tests.datasets.pictures import class_folders
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


def test_an_exported_model_of_photographs_sees_their_middle(tmp_path):
    table = FolderDataset(root=str(class_folders(tmp_path, ["a", "b"], per_class=2))).load()
    sizes = {"side": 24, "shorter_side": 29}
    transform = Mlrc2020Transform(**sizes, preprocessing=EfficientnetLite0Trunk.preprocessing)
    wanted = transform.evaluate(table.images, np.arange(4)).numpy()
    takes = {"shape": [3, 24, 24], "multiply": [1 / 128] * 3, "add": [-127 / 128] * 3, "order": "rgb"}
    model = {"onnx": takes, "transform": {"name": "mlrc2020", **sizes}}
    paths = [tmp_path / name for name in table.identifiers]
    found = np.stack([load("use_exported_model").inputs_of(path, model) for path in paths])
    assert np.abs(found - wanted).max() < 2 / 128  # a shade: pictures are drawn smaller while they are decoded
