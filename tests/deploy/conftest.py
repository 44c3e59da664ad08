"""One tiny model trained on the icons, exported once, for all tests of its use."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from fairground.datasets.icons import IconsDataset
from fairground.deploy.model_folder import open_model, write_model
from fairground.records.store import Store
from fairground.spec import load_run, parse_overrides
from fairground.training.run import run

WORDS = (
    *("trunk.widths=[8, 16]", "trunk.pooling=gem", "head.embedding_dim=16", 'evaluation.metrics=["recall@1", "map@r"]'),
    *("training.epochs=1", "training.batches_per_epoch=10", "training.batch_size=32"),
)


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> SimpleNamespace:
    home = tmp_path_factory.mktemp("home")
    record = run(load_run(overrides=parse_overrides(WORDS)), home=home)
    Store(home).append(record)
    return SimpleNamespace(home=home, name=record.name, record=record)


@pytest.fixture(scope="session")
def model(trained):
    return open_model(trained.name, home=trained.home)


@pytest.fixture(scope="session")
def exported(model, tmp_path_factory) -> Path:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'fairground[export]'")
    folder = tmp_path_factory.mktemp("exported") / "model"
    write_model(model, folder, onnx=True)
    return folder


@pytest.fixture(scope="session")
def icons():
    return IconsDataset().load()


@pytest.fixture(scope="session")
def pictures(icons, tmp_path_factory) -> Path:
    """Class folders of a few icons as files, two classes with hostile names."""
    root = tmp_path_factory.mktemp("pictures")
    names = ["bell", '<script>alert(1)<script>"', "it's a 🎡 \u202ecat", "plain"]
    for label, name in enumerate(names):
        (root / name).mkdir()
        for number, row in enumerate(np.flatnonzero(icons.labels == 20 * label)[:6]):
            pixels = icons.images.take(np.array([row]))[0, 0].numpy()
            Image.fromarray(pixels).save(root / name / f"{number} & <b>x.png")
    return root
