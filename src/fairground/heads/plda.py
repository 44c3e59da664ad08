"""One linear layer that starts as probabilistic linear discriminant analysis of the training split's features.

Formula
    f = m + u + e,  u ~ N(0, B) of the class,  e ~ N(0, S) of the image;  S = (1 - a) S_w + a (tr S_w / d) I = L L'
    z = L^-1 (f - m);  Z = sum_c n_c mean_c(z) mean_c(z)' / N - (t C / N) I,  t = tr(L^-1 S_w L^-T) / d
    q_i = max(0, eigenvalue i of Z),  p_i = q_i + r (sum_j q_j) / d,  V the eigenvectors
    x = W f + b;  at first W = s diag(p / (2 p + 1))^(1/2) V' L^-1,  b = -W m
    a is `shrinkage`, r is `prior`, s makes the mean squared length of the rows of W 1, as that of principal axes is

Paper
    Ioffe, "Probabilistic Linear Discriminant Analysis", ECCV 2006, sections 2 and 4.

Departures from the paper
    Of the log-likelihood ratio that two images are of one class only the product of the two is kept, whose weights are
    p / (2 p + 1), and cosines of x compare: so that the result is one linear layer and nothing else. S_w is shrunk
    towards a multiple of the identity, since images are few beside its d (d + 1) / 2 numbers. The between-class
    variances p have a floor, r times their mean: classes that are not seen differ along axes on which those that are
    seen agree. Fitted by moments on the training split alone; with `training.epochs=0` this head is the closed form,
    otherwise it is trained on from there.
"""

from collections.abc import Iterable

import torch

from fairground.contracts.trunk_head_transform import AffineHead, require
from fairground.functional import ClassScatter, class_scatter, same_way


class PldaHead(AffineHead):
    """`embedding_dim` keeps the first principal axes of the result, none all as many as there are features."""

    needs_features = True
    needs_labels = True

    def __init__(
        self, *, n_features: int, embedding_dim: int | None = None, shrinkage: float = 0.7, prior: float = 2.0
    ) -> None:
        dim = n_features if embedding_dim is None else embedding_dim
        refusal = f"plda.embedding_dim must be in [1, {n_features}], the width of the features; got {dim}"
        require(1 <= dim <= n_features, refusal)
        require(0 < shrinkage <= 1, f"plda.shrinkage must be in (0, 1]; got {shrinkage}")
        require(0 <= prior < float("inf"), f"plda.prior must be a number from 0; got {prior}")
        super().__init__(n_features, dim)
        self.shrinkage, self.prior = shrinkage, prior

    def fit_classes(self, blocks: Iterable[torch.Tensor], labels: torch.Tensor) -> None:
        self.start_from(class_scatter(blocks, labels))

    def start_from(self, found: ClassScatter) -> None:
        weight = self._projection(found)
        if self.embedding_dim < len(weight):
            _, vectors = torch.linalg.eigh(weight @ found.total @ weight.T)
            axes = vectors.T.flip(0)[: self.embedding_dim]
            weight = same_way(axes) @ weight
        weight = weight * (len(weight) / weight.square().sum()).sqrt()
        self.start_at(weight, -(weight @ found.mean))

    def _projection(self, found: ClassScatter) -> torch.Tensor:
        """Return the square projection, in some rotation: cosines and distances know none."""
        d = len(found.mean)
        eye = torch.eye(d, dtype=torch.float64)
        variance = found.within.trace() / d
        # Features that never change within a class have nothing to be divided by.
        floor = self.shrinkage * variance if variance > 0 else torch.ones_like(variance)
        factor = torch.linalg.cholesky((1 - self.shrinkage) * found.within + floor * eye)
        inverse: torch.Tensor = torch.linalg.solve_triangular(factor, eye, upper=False)
        left = (inverse @ found.within * inverse).sum() / d
        means = (found.means - found.mean) @ inverse.T * (found.counts / found.n).sqrt()[:, None]
        # The class means span few axes: those of the others have the floor alone.
        _, lengths, axes = torch.linalg.svd(means, full_matrices=False)
        between = (lengths.square() - left * len(means) / found.n).clamp(min=0)
        least = self.prior * between.sum() / d
        if between.sum() <= 0:
            return inverse
        rest, own = _weight(least), _weight(between + least)
        return rest * inverse + axes.T @ ((own - rest)[:, None] * (axes @ inverse))


def _weight(between: torch.Tensor) -> torch.Tensor:
    return (between / (2 * between + 1)).sqrt()
