"""Every part of every room in a whole run: a few steps, stopped and resumed to bit-identical results."""

from pathlib import Path

import numpy as np
import pytest
import torch

from fairground.errors import InputError
from fairground.spec import list_room
from fairground.training.assemble import assemble, start_head
from fairground.training.run import run
from tests.training.stopping import stop_and_resume
from tests.training.tiny import TINY, spec_of, tiny

#: what a part needs beside its name
COMPANIONS = {
    "miner=multi_similarity": ("loss=multi_similarity",),
    "regulariser=rho": ("loss=triplet", "miner=distance_weighted"),
    "regulariser=soft_triple_centres": ("loss=soft_triple", "loss.reg_weight=0.0"),
    "sampler=hierarchical": ("data.super_classes=2",),
    "sampler=d2_coreset": ("sampler.pool=64",),
    "sampler=distance_distribution": ("sampler.pool=64", "sampler.mine=epoch"),
    "sampler=frechet": ("sampler.pool=64",),
    "sampler=greedy_coreset": ("sampler.pool=64", "sampler.momentum=0.5"),
    "sampler=m_per_class": ("sampler.straddle=true", "sampler.list_length=64"),
}
WIDTHS = ("trunk.widths=[8, 16]",)
TRUNKS = {"timm": ("trunk.model=test_resnet",), "small_conv": WIDTHS, "folded_conv": WIDTHS}
ROOMS = {"loss": "losses", "miner": "miners", "regulariser": "regularisers", "sampler": "samplers"}
PARTS = [f"{key}={name}" for key, room in ROOMS.items() for name in list_room(room)]


@pytest.mark.parametrize("part", PARTS)
def test_every_part_trains_and_resumes(part: str, tmp_path: Path) -> None:
    words = ["training.epochs=1", "training.batches_per_epoch=5", part, *COMPANIONS.get(part, ())]
    if part.startswith("miner=") and not any(word.startswith("loss=") for word in words):
        words.append("loss=triplet")
    if part == "sampler=fixed_tuples":
        np.savez(tmp_path / "tuples.npz", tuples=np.arange(48).reshape(-1, 2))
        words.append(f"sampler.file={tmp_path / 'tuples.npz'}")
    stop_and_resume(tiny(*words), tmp_path, 3)


@pytest.mark.parametrize("trunk", [name for name in list_room("trunks") if name != "features"])
def test_every_trunk_trains_and_resumes(trunk: str, tmp_path: Path) -> None:
    words = [word for word in TINY if not word.startswith(("trunk.", "training."))]
    words += ["data.n_classes=8", "data.per_class=4", "data.size=32", "optimiser.name=sgd", "training.epochs=1"]
    words += ["training.batch_size=8", "training.batches_per_epoch=2", "training.freeze_batch_norm=stats"]
    stop_and_resume(spec_of(*words, f"trunk={trunk}", *TRUNKS.get(trunk, ())), tmp_path, 1)


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


def test_a_head_that_starts_from_the_data_survives_a_stop(tmp_path: Path) -> None:
    stop_and_resume(spec_of(*HEADLESS, "head=pca", "head.embedding_dim=6", "training.epochs=1"), tmp_path, 2)


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
