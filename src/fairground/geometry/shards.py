"""Which part of a batch each process of a data-parallel run works on."""

from torch import Tensor

from fairground.errors import require


def shard(rows: Tensor, rank: int, world_size: int) -> Tensor:
    """Return process `rank`'s share of the batch `rows` (b,): equal shares, in order.

    Every process draws the same batch from a generator in the same state and keeps its own stretch of it, so that
    the shares laid end to end by rank are the single-process batch, in the same order.
    """
    require(0 <= rank < world_size, f"rank must be in 0..{world_size - 1}; got {rank}")
    require(
        len(rows) % world_size == 0,
        f"a batch of {len(rows)} cannot be shared equally by {world_size} processes; the batch size must be a "
        f"multiple of {world_size}",
    )
    share = len(rows) // world_size
    return rows[rank * share : (rank + 1) * share]
