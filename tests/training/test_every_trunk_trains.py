"""Every trunk in a whole run, one of each kind also stopped and resumed; heads that start from the data, or none.

Every other part does so in `tests/golden/test_tiny_runs.py`.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from fairground.errors import InputError
from fairground.spec import list_room
from fairground.training.assemble import assemble, start_head
from fairground.training.run import run
from tests.training.stopping import stop_and_resume
from tests.training.tiny import TINY, spec_of

WIDTHS = ("trunk.widths=[8, 16]",)
TRUNKS = {"timm": ("trunk.model=test_resnet",), "small_conv": WIDTHS, "folded_conv": WIDTHS}


#: drawn, with weights of a package, of another library, and several side by side: what a trunk saves is in its contract
RESUMED = ("small_conv", "efficientnet_lite0", "timm", "joined")


@pytest.mark.parametrize("trunk", [name for name in list_room("trunks") if name != "features"])
def test_every_trunk_trains_and_resumes(trunk: str, tmp_path: Path) -> None:
    words = [word for word in TINY if not word.startswith(("trunk.", "training."))]
    words += ["data.n_classes=8", "data.per_class=4", "data.size=32", "optimiser.name=sgd", "training.epochs=1"]
    words += ["training.batch_size=8", "training.batches_per_epoch=2", "training.freeze_batch_norm=stats"]
    spec = spec_of(*words, f"trunk={trunk}", *TRUNKS.get(trunk, ()))
    if trunk in RESUMED:
        stop_and_resume(spec, tmp_path, 1)
    else:
        assert run(spec, home=tmp_path).state == "done"


HEADLESS = [word for word in TINY if not word.startswith("head.")]


def test_a_pca_head_gives_centred_uncorrelated_embeddings_of_the_training_split() -> None:
    parts = assemble(spec_of(*HEADLESS, "head=pca", "head.embedding_dim=6"))
    start_head(parts)
    model = parts.model.eval()
    with torch.no_grad():
        embeddings = model(parts.transform.evaluate(parts.table.images, parts.split.train)).double()
    covariance = np.cov(embeddings.numpy().T)
    assert embeddings.mean(0).abs().max() < 1e-3
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 1e-3 * covariance.max()
    assert list(np.diag(covariance)) == sorted(np.diag(covariance), reverse=True)


def test_features_without_a_head_can_be_measured_but_not_trained(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
    np.savez(tmp_path / "made.npz", features=rows, labels=np.arange(64) // 4)
    words = ["data=features", f"data.path={tmp_path / 'made.npz'}", "trunk=features", "transform=plain"]
    words += ["head=identity", "training.batch_size=8", "sampler.per_class=2"]
    spec = spec_of(*words, "training.epochs=1")
    with pytest.raises(InputError, match=r"trunk features with head identity has no weights to train.*epochs=0"):
        assemble(spec)
    record = run(spec_of(*words, "training.epochs=0"), home=tmp_path)
    assert record.state == "done"
    assert record.score("recall@1", "test") is not None
