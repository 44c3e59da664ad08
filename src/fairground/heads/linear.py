"""One linear layer from features to embeddings.

Formula
    x = W f + b

Paper
    Both benchmark papers: Roth et al., ICML 2020, and Musgrave et al., ECCV 2020.

Departures from the paper
    None. Scaling to unit length happens inside the loss and at evaluation, as each loss says.
"""

from torch import Tensor, nn

from fairground.contracts.model import Head, require


class LinearHead(Head):
    """`embedding_dim` is the width of the embedding; `n_features` that of the trunk's features."""

    def __init__(self, *, n_features: int, embedding_dim: int = 128, bias: bool = True) -> None:
        super().__init__()
        require(1 <= embedding_dim <= 65536, f"linear.embedding_dim must be in [1, 65536]; got {embedding_dim}")
        self.embedding_dim = embedding_dim
        self.layer = nn.Linear(n_features, embedding_dim, bias=bias)

    def forward(self, features: Tensor) -> Tensor:
        embeddings: Tensor = self.layer(features)
        return embeddings
