"""Ten steps whose losses are written down: a refactor may not move a digit.

The numbers are kept to the digits that different processors agree on; within one machine `tests/training` compares all.
`python -m tests.golden.test_ten_steps` prints them anew, for a change that means to move them.
"""

import json
import tempfile
from pathlib import Path

import pytest
import torch

from fairground.training import Checkpoints, Training
from fairground.training.assemble import assemble
from tests.training.tiny import tiny

STORED = Path(__file__).with_name("ten_steps.json")
METHODS = {
    "contrastive": ("loss=contrastive",),
    "triplet, distance-weighted": ("loss=triplet", "miner=distance_weighted"),
    "margin, rho-regularised": ("loss=margin", "miner=distance_weighted", "regulariser=rho"),
    "multi-similarity": ("loss=multi_similarity",),
    "arc face": ("loss=arc_face",),
    "frechet sampler": ("loss=nt_xent", "sampler=frechet", "sampler.pool=64"),
}


def losses_of(words: tuple[str, ...]) -> list[float]:
    spec = tiny(*words)
    losses: list[float] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        training = Training(parts=assemble(spec), checkpoints=Checkpoints(Path(folder)))
        training.begin()
        for _ in range(10):
            before = training.progress.loss_sum
            training.batch()
            losses.append(training.progress.loss_sum - before)
    torch.set_num_threads(threads)
    return losses


@pytest.mark.parametrize("method", METHODS)
def test_ten_steps_give_the_losses_they_always_gave(method: str) -> None:
    stored = json.loads(STORED.read_text())[method]
    assert losses_of(METHODS[method]) == pytest.approx(stored, rel=2e-4)


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: losses_of(words) for name, words in METHODS.items()}, indent=1) + "\n")
