"""Pairwise cross-entropy: every positive pair is told from the samples in the same two positions of other classes.

Formula
    a, p samples of one class, i and j their positions in it; N(i, j) the samples of other classes in position i or j
    l(a, p) = -log( e^(u_ap) / (e^(u_ap) + sum_{n in N(i, j)} e^(u_an)) ),  L = mean over ordered pairs (a, p)
    u = cosine / T, or -D / T with D the distance in the Poincaré ball of curvature c:
    D(x, y) = (2 / sqrt(c)) artanh( sqrt(c) |x - y| / sqrt(1 - 2 c <x, y> + c^2 |x|^2 |y|^2) )
    with x = tanh(sqrt(c) |v|) v / (sqrt(c) |v|), v the embedding cut to the length `longest`

Paper
    Ermolov, Mirvakhabova, Khrulkov, Sebe and Oseledets, "Hyperbolic Vision Transformers: Combining Improvements in
    Metric Learning", CVPR 2022, section 3.

Departures from the paper
    The authors' code wants classes of one size and adds up the means over classes of all pairs of positions
    (`reduction="sum"`); here classes may differ in size, and the mean is over pairs. That code adds `epsilon` to the
    lengths it cuts and to the denominator of the Möbius sum -x + y, whose length is under the artanh; 0 is exact. In
    classes of two the cosine form is `nt_xent`. `evaluation.distance=poincare` measures the hyperbolic form by D;
    without it, Euclidean distances do.
"""

from math import sqrt
from typing import Literal

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Tuples
from fairground.functional import NOTHING, classmates, distances, normalize, norms, pair_masks

#: as in the authors' code: the largest radius as a share of the ball's, and the largest argument of artanh
RIM, FARTHEST = 1 - 1e-3, 1 - 1e-5


class PairwiseCrossEntropyLoss(Loss):
    """`temperature` divides the similarities: 0.1 for cosines and 0.2 for distances in the paper.

    `curvature`, `longest` and `epsilon` are for `distance` poincare.
    """

    tunable = {"temperature": LogReal(low=1e-2, high=1)}
    bounds = {"temperature": "(0, inf)", "curvature": "(0, inf)", "longest": "(0, inf)", "epsilon": "[0, 1)"}

    def __init__(
        self,
        *,
        distance: Literal["cosine", "poincare"] = "cosine",
        temperature: float = 0.1,
        curvature: float = 0.1,
        longest: float = 2.3,
        epsilon: float = 1e-5,
        reduction: Literal["mean", "sum"] = "mean",
    ) -> None:
        super().__init__()
        self.distance, self.temperature, self.reduction = distance, temperature, reduction
        self.curvature, self.longest, self.epsilon = curvature, longest, epsilon
        self.on_sphere = distance == "cosine"

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        if self.distance == "cosine":
            z = normalize(embeddings)
            u = z @ z.T / self.temperature
        else:
            u = -self.poincare_distances(embeddings) / self.temperature
        batch = classmates(labels)
        position = batch.place - batch.start
        positive, negative = pair_masks(labels)
        # Of anchor a and position j: log of the sum of e^u over the samples of other classes there.
        column = position.expand_as(u)
        highest = torch.full_like(u, NOTHING)
        highest = highest.scatter_reduce(1, column, torch.where(negative, u.detach(), NOTHING), "amax")
        shares = torch.where(negative, u - highest.gather(1, column), NOTHING).exp()
        sums = torch.zeros_like(u).scatter_add(1, column, shares)
        logs = torch.where(sums > 0, sums, 1).log() + highest
        others = torch.logaddexp(logs.gather(1, column), logs.gather(1, position.unsqueeze(1)))
        terms = torch.where(positive, torch.logaddexp(u, others) - u, 0)
        n_partners = positive.sum(1)
        # Each row of a class of n_s counts 1/n_s: that makes the number of classes.
        n_classes = torch.where(n_partners > 0, 1 / (n_partners + 1).to(u.dtype), 0).sum()
        return terms.sum() / (n_partners.sum() if self.reduction == "mean" else n_classes).clamp_min(1)

    def poincare_distances(self, vectors: Tensor) -> Tensor:
        """Return the distances (n, n) between the points that the exponential map makes of vectors cut to a length."""
        root, epsilon, lengths = sqrt(self.curvature), self.epsilon, norms(vectors)
        cut = lengths * (self.longest / (lengths + epsilon).clamp_min(self.longest))
        x = normalize(vectors) * ((root * cut).tanh().clamp_max(RIM) / root)
        products, squares = x @ x.T, self.curvature * x.square().sum(1)
        denominator = 1 - 2 * self.curvature * products + squares.unsqueeze(1) * squares
        apart = root * distances(x, x) * denominator.sqrt() / (denominator + epsilon)
        return 2 / root * apart.clamp_max(FARTHEST).atanh()
