"""Which seed each purpose of a run gets."""

import hashlib
from typing import Literal

Purpose = Literal["init_trunk", "init_head", "init_loss", "sampler", "augment", "miner", "global", "clusters"]


def child_seed(seed: int, purpose: Purpose) -> int:
    """Return a seed in [0, 2**63) for one purpose.

    Each purpose has its own stream, so that another miner does not change which batches are drawn, nor another sampler
    the first weights of the network: two methods with one seed differ in what is compared and in nothing else. Miner,
    regulariser and loss share the stream `miner`.
    """
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
