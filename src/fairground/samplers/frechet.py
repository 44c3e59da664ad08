"""FRD: batches distributed like a much larger pool, both taken for Gaussians.

Formula
    B* = a pool of b* images with mean mu* and covariance S*; B_1 .. B_m = candidates drawn from B*, n images per class
    B = argmin over i of  ||mu_i - mu*||^2 + tr(S_i + S* - 2 (S_i S*)^(1/2))

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    section 3.2 (FRD), after Heusel et al., "GANs Trained by a Two Time-Scale Update Rule", NeurIPS 2017.

Departures from the paper
    Classes are drawn without replacement as far as they go, and no image is in the pool twice; `replace_classes` draws
    them as the released code does. Mined from the live memory bank by default; `mine = "epoch"` freezes it for an
    epoch. The trace of the root is a sum of roots of eigenvalues, so covariances need no lift before it. The number
    of candidates is that of the released code, in which the name of this sampler leads nowhere (erratum E44).
"""

from typing import Any

import torch

from fairground.contracts.sampler import require
from fairground.samplers._memory_bank import EmbeddedSampler


class FrechetSampler(EmbeddedSampler):
    """Keeps the best of `candidates` batches by the Fréchet distance to their pool."""

    def __init__(self, *, candidates: int = 10, replace_classes: bool = False, **bank: Any) -> None:
        super().__init__(**bank)
        require(candidates >= 1, f"sampler.candidates must be at least 1; got {candidates}")
        refusal = f"a batch of {self.batch_size} has no covariance: the batch size must be at least 2"
        require(self.batch_size >= 2, refusal)
        self.class_slots(distinct=not replace_classes)
        self._n_candidates, self._replace_classes = candidates, replace_classes

    def choose(self, generator: torch.Generator) -> torch.Tensor:
        drawn = self.draw_candidates(self._n_candidates, self._replace_classes, generator)
        costs = frechet_distances(self.points(drawn.rows, generator), drawn.batches)
        return drawn.rows[drawn.batches[costs.argmin()]]


def frechet_distances(points: torch.Tensor, subsets: torch.Tensor) -> torch.Tensor:
    """Return the Fréchet distance of every subset (m, b) of `points` (n, d) to all points, as (m,) in float64.

    The eigenvalues of S S* are those of A S* A', where S = A'A: (b, b) per subset instead of (d, d).
    """
    points = points.double()
    n, b = len(points), subsets.shape[1]
    if n == 1:
        # Copies of a single point are all there can be.
        return points.new_zeros(len(subsets))
    centred = points - points.mean(0)
    covariance = centred.T @ centred / (n - 1)
    part = centred[subsets]
    mean = part.mean(1)
    scaled = (part - mean.unsqueeze(1)) / (b - 1) ** 0.5
    values = torch.linalg.eigvalsh(scaled @ covariance @ scaled.mT).clamp_min(0)
    # In ascending order; beyond the rank they are roundings of zero, whose roots would not be small.
    roots = values[:, -min(b - 1, points.shape[1]) :].sqrt().sum(1)
    return mean.square().sum(1) + scaled.square().sum((1, 2)) + covariance.trace() - 2 * roots
