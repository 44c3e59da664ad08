"""Losses and miners from outside, behind our contracts.

An outside loss is a torch module called with (embeddings, labels) or (embeddings, labels, tuples); an outside miner is
one called with (embeddings, labels). Tuples cross the border as index vectors, three for triplets and four for pairs,
as pytorch-metric-learning has them.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from fairground.contracts import Loss, Miner, Pairs, Triplets, Tuples
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
        with own_randomness(generator):
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
        with own_randomness(generator):
            found = self.module(embeddings, labels)
        require(
            isinstance(found, tuple) and len(found) in (3, 4),
            f"{type(self.module).__name__} must return 3 index vectors (triplets) or 4 (pairs)",
        )
        return Triplets(*found) if len(found) == 3 else Pairs(*found)


@contextmanager
def own_randomness(generator: torch.Generator | None) -> Iterator[None]:
    """Outsiders draw from torch's global stream: lend them one that our generator started, and put ours back."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
