"""One linear layer that starts as the principal axes of the training split's features, each divided by its spread.

Formula
    x = W f + b;  at first W = diag(s)^(-power) A, b = -W m: A the principal axes of the training split's features, m
    their mean and s the deviation along each axis. power 1 whitens, power 1/2 halves the way there, power 0 is `pca`.

Paper
    Jegou and Chum, "Negative Evidences and Co-occurrences in Image Retrieval: the Benefit of PCA and Whitening",
    ECCV 2012, section 3.

Departures from the paper
    Fitted on the training split alone. An axis along which the features hardly change is divided by a hundredth of the
    largest deviation at least, for what is left there is noise.
"""

from collections.abc import Iterable

from torch import Tensor

from fairground.contracts.trunk_head_transform import AffineHead, require
from fairground.functional.principal_components import PrincipalAxes, principal_axes

#: of the largest deviation
_LEAST = 0.01


class WhitenedHead(AffineHead):
    """`embedding_dim` is the number of axes kept; `power` is how much of their spread is taken away."""

    needs_features = True

    def __init__(self, *, n_features: int, embedding_dim: int = 128, power: float = 1.0) -> None:
        refusal = f"whitened.embedding_dim must be in [1, {n_features}], the width of the features; got {embedding_dim}"
        require(1 <= embedding_dim <= n_features, refusal)
        require(0 <= power <= 1, f"whitened.power must be in [0, 1]; got {power}")
        super().__init__(n_features, embedding_dim)
        self.power = power

    def fit(self, blocks: Iterable[Tensor]) -> None:
        self.start_from(principal_axes(blocks, standardise=False))

    def start_from(self, found: PrincipalAxes) -> None:
        bound = f"below the number of training images, {found.n}, for {found.n} points have no more axes"
        require(self.embedding_dim < found.n, f"whitened.embedding_dim must be {bound}; got {self.embedding_dim}")
        weight, bias = found.projection(self.embedding_dim)
        spread = found.spread[: self.embedding_dim]
        divisor = spread.clamp(min=max(_LEAST * float(spread.max()), 1e-12)) ** self.power
        self.start_at(weight / divisor[:, None], bias / divisor)
