"""The features themselves, less their mean, plus a linear correction of low rank that starts at nothing.

Formula
    x = (f - m) + B A (f - m),  A (rank, d) drawn at random, B (d, rank) = 0 at first, m the mean training feature

Paper
    Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022, section 4.1: an update of rank r
    beside a matrix that stays as it is, here the identity.

Departures from the paper
    The correction stands beside the identity and not beside a weight of the network. With `centre` the mean is
    subtracted first, which cosines of features that are never negative need.
"""

from collections.abc import Iterable

import torch

from fairground.contracts.trunk_head_transform import Head, require


class ResidualHead(Head):
    """`rank` is that of the correction; `centre` takes the mean of the training features off first."""

    needs_features = True

    def __init__(self, *, n_features: int, rank: int = 64, centre: bool = True) -> None:
        super().__init__()
        require(1 <= rank <= n_features, f"residual.rank must be in [1, {n_features}], the feature width; got {rank}")
        self.embedding_dim = n_features
        self.centre = centre
        self.down = torch.nn.Linear(n_features, rank, bias=False)
        self.up = torch.nn.Linear(rank, n_features, bias=False)
        torch.nn.init.zeros_(self.up.weight)
        self.mean: torch.Tensor
        self.register_buffer("mean", torch.zeros(n_features))

    def fit(self, blocks: Iterable[torch.Tensor]) -> None:
        if not self.centre:
            return
        n, total = 0, torch.zeros(self.embedding_dim, dtype=torch.float64)
        for block in blocks:
            n, total = n + len(block), total + block.cpu().double().sum(0)
        self.mean.copy_(total / n)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        centred = features - self.mean
        return centred + self.up(self.down(centred))
