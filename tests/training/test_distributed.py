"""Parts in other people's loops: two processes learn what one does."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import fairground as fg
from fairground.errors import InputError
from tests.training.shared_loops import LOOPS, eight_steps
from tests.training.test_torchrun import torchrun


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the weights of all loops: two processes for all, because their start takes longest."""
    folder = tmp_path_factory.mktemp("weights")
    finished = torchrun("tests.training.shared_loops", str(folder))
    assert finished.returncode == 0, finished.stderr
    return folder


@pytest.mark.parametrize("loop", LOOPS)
def test_two_processes_learn_the_weights_of_one(loop: str, weights: Path) -> None:
    together, alone = load_file(weights / loop), eight_steps(loop)
    assert together.keys() == alone.keys()
    for name, weight in alone.items():
        torch.testing.assert_close(together[name], weight, rtol=1e-5, atol=1e-6)


def test_shares_of_a_sampler_are_its_batches() -> None:
    def sampler() -> fg.samplers.PerClassSampler:
        return fg.samplers.PerClassSampler(labels=np.arange(64) // 8, batch_size=16, per_class=4, seed=1)

    shares = [fg.distributed.ShardedSampler(sampler(), rank=rank, size=2) for rank in range(2)]
    assert [one.batch_size for one in shares] == [8, 8]
    for epoch in (0, 3):
        for one in shares:
            one.set_epoch(epoch)
        whole = sampler()
        whole.set_epoch(epoch)
        assert [first + second for first, second in zip(*shares, strict=True)] == list(whole)
    assert list(fg.distributed.ShardedSampler(sampler())) == list(sampler())
    with pytest.raises(InputError, match="cannot be shared equally by 3 processes"):
        list(fg.distributed.ShardedSampler(sampler(), rank=0, size=3))


def test_alone_a_gathered_loss_is_the_loss() -> None:
    embeddings, labels = torch.randn(12, 4), torch.arange(12) // 3
    loss, miner = fg.losses.TripletLoss(), fg.miners.DistanceWeightedMiner()
    tuples = fg.distributed.GatheredMiner(miner, seed=2)(embeddings, labels)
    again = miner(embeddings, labels, generator=torch.Generator().manual_seed(2))
    assert all(map(torch.equal, tuples, again))
    gathered = fg.distributed.GatheredLoss(loss)
    assert torch.equal(gathered(embeddings, labels, tuples), loss(embeddings, labels, tuples))
    assert torch.equal(gathered(embeddings, labels), loss(embeddings, labels))
