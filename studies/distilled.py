"""The head of S2SD that starts where the heads of all other losses start, for C23.

Formula
    as `head=self_distilled`; at first x is the projection of f onto the principal axes of the training features, as
    with `head=pca` and `standardise=false`
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from fairground.functional.principal_components import principal_axes
from fairground.heads import SelfDistilledHead


class DistilledFromAxesHead(SelfDistilledHead):
    """`branches` are the widths of the wider embeddings, which start at random."""

    needs_features = True

    def fit(self, blocks: Iterable[Tensor]) -> None:
        weight, bias = principal_axes(blocks, standardise=False).projection(self.embedding_dim)
        with torch.no_grad():
            self.layer.weight.copy_(weight)
            self.layer.bias.copy_(bias)
