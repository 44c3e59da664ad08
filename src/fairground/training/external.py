"""Parts from outside the repository, made to keep our contracts: a user's class, or any of pytorch-metric-learning's.

An outside loss is a torch module called with (embeddings, labels) or (embeddings, labels, tuples); an outside miner is
one called with (embeddings, labels). Tuples cross the border as index vectors: three for triplets, four for pairs,
which is how pytorch-metric-learning has them.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from fairground.contracts.loss import Loss
from fairground.contracts.miner import Miner
from fairground.contracts.tuples import Pairs, Triplets, Tuples
from fairground.errors import require


class ExternalLoss(Loss):
    """A loss module from outside, behind our contract."""

    def __init__(self, *, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        takes_tuples = len(inspect.signature(module.forward).parameters) >= 3
        self.accepts = (Triplets, Pairs) if takes_tuples else ()

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the outside module's loss, drawing its random numbers from our generator."""
        with _own_randomness(generator):
            arguments = (embeddings, labels) if tuples is None else (embeddings, labels, tuple(tuples))
            value: Tensor = self.module(*arguments)
        require(
            isinstance(value, Tensor) and value.numel() == 1,
            f"{type(self.module).__name__} must return one number; got {type(value).__name__}",
        )
        return value.reshape(())


class ExternalMiner(Miner):
    """A miner module from outside, behind our contract."""

    def __init__(self, *, module: nn.Module) -> None:
        self.module = module

    def mine(self, embeddings: Tensor, labels: Tensor, *, generator: torch.Generator | None) -> Tuples:
        """Return the outside miner's tuples."""
        with _own_randomness(generator):
            found = self.module(embeddings, labels)
        require(
            isinstance(found, tuple) and len(found) in (3, 4),
            f"{type(self.module).__name__} must return 3 index vectors (triplets) or 4 (pairs)",
        )
        return Triplets(*found) if len(found) == 3 else Pairs(*found)


@contextmanager
def _own_randomness(generator: torch.Generator | None) -> Iterator[None]:
    """Outsiders draw from torch's global stream: lend them one that our generator started, and put ours back."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
