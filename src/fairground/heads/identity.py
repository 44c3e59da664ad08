"""The features themselves as embeddings.

Formula
    x = f

Paper
    None; the rows "pretrained, without reduction" of comparisons.

Departures from the paper
    None.
"""

from torch import Tensor

from fairground.contracts.trunk_head_transform import Head


class IdentityHead(Head):
    """The embedding is as wide as the features."""

    def __init__(self, *, n_features: int) -> None:
        super().__init__()
        self.embedding_dim = n_features

    def forward(self, features: Tensor) -> Tensor:
        return features
