"""The rows "pretrained" of the papers' tables: what features are worth before any training.

Musgrave et al. standardise the trunk's features in each dimension and project them onto their principal axes, both
fitted on the very set that is evaluated. No label is looked at, but the test images are. A run does so when
`evaluation.principal_axes` says how many, and its card says so too; the head `pca` fits on the training split instead.
Roth et al. use a random linear layer, which is the head `linear` with `training.epochs=0`.
"""

import torch
from torch import Tensor

from fairground.errors import require
from fairground.functional.spectral import principal_axes

BLOCK = 4096


def pretrained_embeddings(features: Tensor, *, dim: int, standardise: bool = True) -> Tensor:
    """Return unit embeddings (n, dim): features (n, d) on their own first `dim` principal axes, as in MLRC."""
    n, width = features.shape
    require(
        1 <= dim <= min(n - 1, width),
        f"{n} features of width {width} have {min(n - 1, width)} principal axes; {dim} were asked for",
    )
    found = principal_axes(torch.split(features, BLOCK), standardise=standardise)
    weight, bias = found.projection(dim)
    projected = [(block.cpu().double() @ weight.T + bias).to(features) for block in torch.split(features, BLOCK)]
    return torch.nn.functional.normalize(torch.cat(projected), dim=1)
