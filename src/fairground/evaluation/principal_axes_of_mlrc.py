"""Embeddings of the pretrained network as in MLRC: standardised and projected onto principal axes."""

import torch
from torch import Tensor

from fairground.errors import require
from fairground.functional.principal_components import principal_axes

#: features projected at once
PROJECTED = 4096


def pretrained_embeddings(features: Tensor, *, dim: int, standardise: bool = True) -> Tensor:
    """Return unit embeddings (n, dim): features (n, d) standardised and projected onto their first principal axes.

    These are the rows "pretrained" of Musgrave et al.'s tables: what features are worth before training. Both steps are
    fitted on the very set that is evaluated, without its labels. A run does so when `evaluation.principal_axes` says
    how many; the head `pca` fits on the training split instead. Roth et al. use a random linear layer, which is the
    head `linear` with `training.epochs=0`.
    """
    n, width = features.shape
    refusal = f"{n} features of width {width} have {min(n - 1, width)} principal axes; {dim} were asked for"
    require(1 <= dim <= min(n - 1, width), refusal)
    found = principal_axes(torch.split(features, PROJECTED), standardise=standardise)
    weight, bias = found.projection(dim)
    projected = [(block.cpu().double() @ weight.T + bias).to(features) for block in torch.split(features, PROJECTED)]
    return torch.nn.functional.normalize(torch.cat(projected), dim=1)
