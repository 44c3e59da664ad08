"""d2-coreset: batches drawn by distance to what was drawn before, and by how typical an image is.

Formula
    B* = b* images drawn uniformly and all different, with mean mu and covariance S; q = the density of N(mu, S);
    s_1 = the image of B* nearest to a draw from N(mu, S);
    P(s_i = x) ~ q(x) * ( sum over j < i of ||f(x) - f(s_j)||^2 )^spread  over the images not yet drawn, i = 2 .. b/n
    B = the picks, each with n - 1 random images of its class

Paper
    None: the sampler is only in the code released with Roth et al., "Revisiting Training Strategies and Generalization
    Performance in Deep Metric Learning", ICML 2020.

Departures from the paper
    The released code takes the picks' places in another random subset than the one they were picked from; here they are
    the images picked. Densities are weighed as logarithms, and S is lifted a little where it has no inverse, where the
    code would stop. `density = False` leaves q out, and with it the pull towards the middle.
"""

from typing import Any

import torch
from torch import Tensor

from fairground.contracts.sampler import Real, require
from fairground.samplers._memory_bank import EmbeddedSampler


class D2CoresetSampler(EmbeddedSampler):
    """`spread` is how strongly distance counts: 0 not at all, 1 in proportion to its square."""

    tunable = {"spread": Real(low=0.0, high=4.0)}

    def __init__(self, *, spread: float = 1.0, density: bool = True, **bank: Any) -> None:
        super().__init__(**bank)
        require(spread >= 0, f"sampler.spread must be 0 or more; got {spread}")
        self.require_picks()
        self._spread, self._density = spread, density

    def choose(self, generator: torch.Generator) -> Tensor:
        pool = self.draw_pool(generator)
        points = self.points(pool, generator)
        picks = pool[draw_spread(points, self._n_slots, generator, spread=self._spread, density=self._density)]
        return self.with_partners(picks, generator)


def draw_spread(points: Tensor, k: int, generator: torch.Generator, *, spread: float, density: bool) -> Tensor:
    """Return k different picks (k,) out of `points` (n, d).

    The chance of a point grows with the sum of its squared distances to the picks so far, to the power `spread`, and,
    with `density`, in proportion to its density under the Gaussian fitted to the points. The first pick is then the
    point nearest to a draw from that Gaussian; without, any.
    """
    points = points.double() - points.double().mean(0)
    squares = points.square().sum(1)
    log_density = torch.zeros_like(squares)
    picks = torch.empty(k, dtype=torch.long, device=points.device)
    if density:
        log_density, picks[0] = _gaussian(points, generator)
    else:
        picks[0] = torch.randint(len(points), (), generator=generator, device=generator.device)
    for i in range(1, k):
        before = picks[:i]
        log_density[before] = -torch.inf
        # The squared distances from x to i picks sum to i ||x||^2 + sum ||p||^2 - 2 x'(sum p).
        sums = i * squares + squares[before].sum() - 2 * points @ points[before].sum(0)
        # A sum of zero, for copies of the only pick, must leave them a chance if there is nothing else.
        sums = sums.clamp_min(sums.max().clamp_min(1e-30) * 1e-30)
        weights = torch.softmax(log_density + spread * sums.log(), 0)
        picks[i] = torch.multinomial(weights, 1, generator=generator)[0]
    return picks


def _gaussian(centred: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return each point's log density, up to a constant, and the point nearest to a draw from the Gaussian."""
    n, d = centred.shape
    covariance = centred.T @ centred / max(n - 1, 1)
    # Rounding, or fewer points than dimensions, leave it short of positive definite: the diagonal is lifted a little.
    lift = 1e-12 * covariance.diagonal().mean().clamp_min(1e-300)
    factor, failed = torch.linalg.cholesky_ex(covariance + lift * torch.eye(d).to(covariance))
    while failed:
        lift = 4 * lift
        factor, failed = torch.linalg.cholesky_ex(covariance + lift * torch.eye(d).to(covariance))
    whitened = torch.linalg.solve_triangular(factor, centred.T, upper=False)
    normal = torch.randn(d, generator=generator, device=generator.device, dtype=torch.float64).to(centred)
    nearest = (centred - factor @ normal).square().sum(1).argmin()
    return -whitened.square().sum(0) / 2, nearest
