"""Equal shares that make up the batch."""

import pytest
import torch

from fairground.errors import InputError
from fairground.geometry.shards import shard
from fairground.samplers.per_class import PerClassSampler
from tests.samplers.splits import even_split, seeded


@pytest.mark.parametrize("world_size", [1, 2, 4, 8])
def test_the_shares_by_rank_are_the_single_process_batch(world_size):
    labels = even_split()
    alone = PerClassSampler(labels=labels, batch_size=16)
    together = [PerClassSampler(labels=labels, batch_size=16) for _ in range(world_size)]
    generator, generators = seeded(), [seeded() for _ in range(world_size)]
    for _ in range(5):
        batch = alone.draw(generator)
        drawn = [sampler.draw(g) for sampler, g in zip(together, generators, strict=True)]
        shares = [shard(rows, rank, world_size) for rank, rows in enumerate(drawn)]
        assert {len(share) for share in shares} == {16 // world_size}
        assert torch.equal(torch.cat(shares), batch)


def test_refusals():
    with pytest.raises(InputError, match="a batch of 10 cannot be shared equally by 4 processes"):
        shard(torch.arange(10), 0, 4)
    with pytest.raises(InputError, match=r"rank must be in 0\.\.1; got 2"):
        shard(torch.arange(10), 2, 2)
