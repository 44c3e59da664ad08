"""Weights that make distances of negatives equally likely, as in distance-weighted sampling."""

import torch

from fairground.functional.pair_distances import normalize, squared_distances


def inverse_density(squares: torch.Tensor, dimension: int) -> torch.Tensor:
    """Return -log q(d), up to a constant, of squared distances between random points of the sphere in R^dimension.

    q(d) is proportional to d^(D-2) (1 - d^2/4)^((D-3)/2).
    """
    return (1 - dimension / 2) * squares.log() - (dimension - 3) / 2 * torch.log1p(-squares / 4)


def distance_weights(embeddings: torch.Tensor, negative: torch.Tensor, *, lo: float, hi: float | None) -> torch.Tensor:
    """Return 1/q(d) for the negatives (n, n) of every row, scaled by the row's largest; 0 elsewhere and from `hi` on.

    Distances count as at least `lo`. The scale is the row's own: under one scale for all rows a single near-duplicate
    would make every other row vanish.
    """
    z = normalize(embeddings)
    # The density is 0 or infinite at the antipode itself.
    squares = squared_distances(z, z).clamp_(lo**2, 4 - 1e-6)
    allowed = negative if hi is None else negative & (squares < hi**2)
    logarithms = inverse_density(squares, embeddings.shape[1]).masked_fill_(~allowed, -torch.inf)
    largest = logarithms.amax(1, keepdim=True).clamp_min(torch.finfo(squares.dtype).min)
    return logarithms.sub_(largest).exp_()
