"""Every part of every room in a whole run: a few steps, stopped and resumed to bit-identical results."""

from pathlib import Path

import numpy as np
import pytest

from fairground.spec import list_room
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
