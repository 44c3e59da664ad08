"""Images through a frozen network into a cache, a block at a time, until a time: whatever is done is done for good."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor, nn

from fairground.adaptation.array_cache import ArrayCache
from fairground.contracts.model import Transform
from fairground.contracts.table import Images
from fairground.errors import DataError

#: images read and embedded at once: small enough that a time limit is kept to a second or two
BLOCK = 32
#: hears how many of how many rows are there
Tell = Callable[[int, int], None]


def round_robin(rows: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """Return rows in an order of which every beginning has about as many of each class, drawn by the seed."""
    order = np.random.default_rng([seed, 7]).permutation(len(rows))
    turn = np.empty(len(rows), np.int64)
    for label in np.unique(labels):
        mine = order[labels[order] == label]
        turn[mine] = np.arange(len(mine))
    # Pairs first: one image of a class says nothing.
    ranked = np.lexsort((labels[order], turn[order] // 2))
    found: np.ndarray = rows[order[ranked]]
    return found


@torch.no_grad()
def fill(
    cache: ArrayCache,
    network: nn.Module,
    images: Images,
    rows: np.ndarray,
    read: Callable[[Images, np.ndarray], Tensor],
    *,
    is_time: Callable[[], bool] = lambda: True,
    tell: Tell = lambda *_: None,
) -> None:
    """Fill the cache for `rows` in their order while there is time; `read` turns rows of images into inputs.

    A picture that cannot be read is noted and left out. The next block is read while this one is in the network.
    """
    network.eval()
    to_do = cache.missing(rows)
    blocks = [to_do[begin : begin + BLOCK] for begin in range(0, len(to_do), BLOCK)]
    n_there = len(rows) - len(to_do)
    tell(n_there, len(rows))
    with ThreadPoolExecutor(1, thread_name_prefix="fairground-read") as reader:
        ahead: Future[Tensor] | None = reader.submit(read, images, blocks[0]) if blocks else None
        for number, block in enumerate(blocks):
            assert ahead is not None
            coming = ahead
            is_last = number + 1 == len(blocks)
            ahead = None if is_last else reader.submit(read, images, blocks[number + 1])
            _keep(cache, network, images, block, coming, read)
            n_there += len(block)
            tell(n_there, len(rows))
            if not is_time():
                break
    cache.flush()


def _keep(
    cache: ArrayCache,
    network: nn.Module,
    images: Images,
    block: np.ndarray,
    coming: "Future[Tensor]",
    read: Callable[[Images, np.ndarray], Tensor],
) -> None:
    try:
        cache.write(block, network(coming.result()).float().cpu().numpy())
    except DataError:
        for row in block:
            try:
                one = network(read(images, np.array([row]))).float().cpu().numpy()
            except DataError:
                cache.refuse(int(row))
            else:
                cache.write(np.array([row]), one)


def evaluation_inputs(transform: Transform) -> Callable[[Images, np.ndarray], Tensor]:
    """Return what reads rows as they are evaluated."""
    return transform.evaluate
