"""One linear layer that starts as the principal axes of the training split's features.

Formula
    x = W f + b;  at first W = A / s, b = -W m: the projection of (f - m) / s onto the principal axes A of the training
    split's features, m their mean and s their deviation in each dimension

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020: the rows "pretrained" of their tables.

Departures from the paper
    They fit mean, deviation and axes on the set that is evaluated, which is a look at the test images; here the
    training split is used. `evaluation.principal_axes` does it their way. With `training.epochs=0` this head gives the
    pretrained row; otherwise it is trained on from there.
"""

from collections.abc import Iterable

from torch import Tensor

from fairground.contracts.trunk_head_transform import AffineHead, require
from fairground.functional.principal_components import PrincipalAxes, principal_axes


class PcaHead(AffineHead):
    """`embedding_dim` is the number of axes kept; `standardise` divides by the deviation of each feature first."""

    needs_features = True

    def __init__(self, *, n_features: int, embedding_dim: int = 128, standardise: bool = True) -> None:
        refusal = f"pca.embedding_dim must be in [1, {n_features}], the width of the features; got {embedding_dim}"
        require(1 <= embedding_dim <= n_features, refusal)
        super().__init__(n_features, embedding_dim)
        self.standardise = standardise

    def fit(self, blocks: Iterable[Tensor]) -> None:
        self.start_from(principal_axes(blocks, standardise=self.standardise))

    def start_from(self, found: PrincipalAxes) -> None:
        bound = f"below the number of training images, {found.n}, for {found.n} points have no more axes"
        largest_power = 1 << max(0, max(1, found.n - 1).bit_length() - 1)
        advice = f"Say head.embedding_dim={largest_power}"
        refusal = f"pca.embedding_dim must be {bound}; got {self.embedding_dim}. {advice}"
        require(self.embedding_dim < found.n, refusal)
        self.start_at(*found.projection(self.embedding_dim))
