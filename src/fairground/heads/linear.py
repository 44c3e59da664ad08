"""One linear layer from features to embeddings.

Formula
    x = W f + b

Paper
    Both benchmark papers: Roth et al., ICML 2020, and Musgrave et al., ECCV 2020.

Departures from the paper
    None. Scaling to unit length happens inside the loss and at evaluation, as each loss says.
"""

from fairground.contracts.trunk_head_transform import AffineHead, require


class LinearHead(AffineHead):
    """`embedding_dim` is the width of the embedding; `n_features` that of the trunk's features."""

    def __init__(self, *, n_features: int, embedding_dim: int = 128, bias: bool = True) -> None:
        require(1 <= embedding_dim <= 65536, f"linear.embedding_dim must be in [1, 65536]; got {embedding_dim}")
        super().__init__(n_features, embedding_dim, bias=bias)
