"""A linear embedding that learns from wider ones beside it: branches on the same features, dropped after training.

Formula
    x = W f + b;  in training also e_k = W_k2 ReLU(W_k1 f + b_k1) + b_k2 for each width d_k, and f itself

Paper
    Roth, Milbich, Ommer, Cohen and Ghassemi, "Simultaneous Similarity-based Self-Distillation for Deep Metric
    Learning", ICML 2021, section 3.

Departures from the paper
    Branches read the features that the embedding reads, as the trunk pools them; the authors' add maxima to means.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fairground.contracts.trunk_head_transform import AffineHead, require


class SelfDistilledHead(AffineHead):
    """`branches` are the widths of the wider embeddings. `loss=self_distillation` takes what this head gives."""

    def __init__(
        self, *, n_features: int, embedding_dim: int = 128, branches: Sequence[int] = (512, 1024, 1536, 2048)
    ) -> None:
        require(1 <= embedding_dim <= 65536, f"self_distilled.embedding_dim must be in [1, 65536]; got {embedding_dim}")
        refusal = f"self_distilled.branches must be whole numbers in [1, 65536], one at least; got {list(branches)}"
        require(len(branches) > 0 and all(isinstance(d, int) and 1 <= d <= 65536 for d in branches), refusal)
        super().__init__(n_features, embedding_dim)
        self.branch_dims = tuple(branches)
        self.branches = nn.ModuleList(
            nn.Sequential(nn.Linear(n_features, width), nn.ReLU(), nn.Linear(width, width)) for width in branches
        )

    def forward(self, features: Tensor) -> Tensor:
        embeddings = super().forward(features)
        if not self.training:
            return embeddings
        return torch.cat([embeddings, *(branch(features) for branch in self.branches), features], 1)
