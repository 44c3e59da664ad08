"""Model and images to embeddings, in order and without gradient; features to embeddings as in MLRC, untrained."""

from collections.abc import Generator, Iterator

import numpy as np
import torch
from torch import Tensor, nn

from fairground import functional
from fairground.contracts import Images, Transform, require
from fairground.loading.reading_threads import read_ahead

BLOCK = 512
#: photographs are large, and two blocks of them are in memory at once
SLOW_BLOCK = 128
#: how many pixels go through the network at once on a CPU, where more would only leave its cache, and elsewhere
PIXELS, PIXELS_ON_DEVICE = 512 * 64 * 64, 4 * 512 * 64 * 64
#: features projected at once
PROJECTED = 4096


def embed(
    model: nn.Module, images: Images, rows: np.ndarray, transform: Transform, *, device: torch.device | None = None
) -> Tensor:
    """Return the raw embeddings (len(rows), d) of the images at `rows`; the model's mode is left as it was."""
    return torch.cat(list(embed_blocks(model, images, rows, transform, device=device)))


@torch.no_grad()
def embed_blocks(
    model: nn.Module, images: Images, rows: np.ndarray, transform: Transform, *, device: torch.device | None = None
) -> Generator[Tensor, None, None]:
    """Yield the same in blocks of rows; `model` may be a trunk alone."""
    was_training = model.training
    model.eval()
    try:
        for inputs in _inputs(images, rows, transform, device):
            pixels = inputs.shape[-2] * inputs.shape[-1] if inputs.ndim == 4 else 1
            at_once = (PIXELS if inputs.is_cpu else PIXELS_ON_DEVICE) // pixels
            yield torch.cat([model(piece) for piece in torch.split(inputs, max(1, at_once))])
    finally:
        model.train(was_training)


def _inputs(images: Images, rows: np.ndarray, transform: Transform, device: torch.device | None) -> Iterator[Tensor]:
    def read(begin: int) -> Tensor:
        return transform.evaluate(images, rows[begin : begin + size], device)

    size = SLOW_BLOCK if images.is_slow else BLOCK
    begins = range(0, len(rows), size)
    return read_ahead(read, begins) if images.is_slow else map(read, begins)


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
    found = functional.principal_axes(torch.split(features, PROJECTED), standardise=standardise)
    weight, bias = found.projection(dim)
    projected = [(block.cpu().double() @ weight.T + bias).to(features) for block in torch.split(features, PROJECTED)]
    return torch.nn.functional.normalize(torch.cat(projected), dim=1)
