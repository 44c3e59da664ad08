"""Every part of every room in a whole run: a few steps, kept, killed off and taken up again."""

from pathlib import Path

import numpy as np
import pytest

from fairground.spec.catalogue import list_room
from fairground.training.run import run
from tests.training.tiny import tiny

#: what a part needs beside its name
COMPANIONS = {
    "miner=multi_similarity": ("loss=multi_similarity",),
    "regulariser=rho": ("loss=triplet", "miner=distance_weighted"),
    "regulariser=soft_triple_centres": ("loss=soft_triple", "loss.reg_weight=0.0"),
    "sampler=hierarchical": ("data.super_classes=2",),
}
ROOMS = {"loss": "losses", "miner": "miners", "regulariser": "regularisers", "sampler": "samplers"}
PARTS = [f"{key}={name}" for key, room in ROOMS.items() for name in list_room(room)]


@pytest.mark.parametrize("part", PARTS)
def test_every_part_trains_and_resumes_mid_epoch_to_the_same_digits(part: str, tmp_path: Path) -> None:
    words = ["training.epochs=1", "training.batches_per_epoch=5", part, *COMPANIONS.get(part, ())]
    if part.startswith("miner=") and not any(word.startswith("loss=") for word in words):
        words.append("loss=triplet")
    if part == "sampler=fixed_tuples":
        np.savez(tmp_path / "tuples.npz", tuples=np.arange(48).reshape(-1, 2))
        words.append(f"sampler.file={tmp_path / 'tuples.npz'}")
    spec = tiny(*words)
    whole = run(spec, home=tmp_path / "whole")
    assert whole.state == "done", whole.failure
    batches = iter(range(1, 100))
    with pytest.raises(KeyboardInterrupt):
        run(spec, home=tmp_path / "halved", should_stop=lambda: next(batches) == 3)
    assert run(spec, home=tmp_path / "halved").digits() == whole.digits()
