"""A multi-layer perceptron from features to embeddings.

Formula
    h <- activation(norm(W h + b)) for each hidden width, then x = W h + b

Paper
    Chen, Kornblith, Norouzi and Hinton, "A Simple Framework for Contrastive Learning", ICML 2020, section 4.2.

Departures from the paper
    The embedding that is judged is the output, not the layer before, for in metric learning the loss shapes what is
    compared. Batch norm is optional and never frozen with the trunk's.
"""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from fairground.contracts.trunk_head_transform import Head, require

_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh}


class MlpHead(Head):
    """`hidden` are the widths of the hidden layers; without any, the head is linear."""

    def __init__(
        self,
        *,
        n_features: int,
        embedding_dim: int = 128,
        hidden: Sequence[int] = (512,),
        activation: Literal["relu", "gelu", "silu", "tanh"] = "relu",
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        require(1 <= embedding_dim <= 65536, f"mlp.embedding_dim must be in [1, 65536]; got {embedding_dim}")
        refusal = f"mlp.hidden must be whole numbers in [1, 65536], one a hidden layer; got {list(hidden)}"
        require(all(isinstance(width, int) and 1 <= width <= 65536 for width in hidden), refusal)
        known = ", ".join(_ACTIVATIONS)
        require(activation in _ACTIVATIONS, f"mlp.activation must be one of {known}; got {activation!r}")
        self.embedding_dim = embedding_dim
        self.layers = nn.Sequential()
        before = n_features
        for width in hidden:
            self.layers.append(nn.Linear(before, width))
            if batch_norm:
                self.layers.append(nn.BatchNorm1d(width))
            self.layers.append(_ACTIVATIONS[activation]())
            before = width
        self.layers.append(nn.Linear(before, embedding_dim))

    def forward(self, features: Tensor) -> Tensor:
        return self.layers(features)
