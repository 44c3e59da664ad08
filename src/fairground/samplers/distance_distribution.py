"""DDM: batches whose pairwise distances are distributed like those of a much larger pool.

Formula
    B* = a pool of b* images, p* = the histogram of its pairwise distances over [min, max];
    B_1 .. B_m = candidates drawn from B*, n images per class; p_i = the histogram of B_i on the same bins
    B = argmin over i of  W1(p_i, p*) = width * sum over r of |CDF_i(r) - CDF*(r)|

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    section 3.2 (DDM).

Departures from the paper
    Classes are drawn without replacement as far as they go, and no image is in the pool twice; `replace_classes` draws
    them as the released code does. Mined from the live memory bank by default; `mine = "epoch"` freezes it for an
    epoch. The number of candidates and bins is that of the released code, whose cost compares the heights of the bins
    whatever their place, and adds the differences of mean and deviation: `cost = "roth_code"`.
"""

from typing import Any, Literal, NamedTuple

import torch

from fairground.contracts.sampler import require
from fairground.samplers._memory_bank import EmbeddedSampler


class DistanceHistograms(NamedTuple):
    """`whole` (n_bins,) and `parts` (m, n_bins) in float64, each with sum 1, and the `width` of a bin.

    A part without any distance has only zeros.
    """

    whole: torch.Tensor
    parts: torch.Tensor
    width: float


class DistanceDistributionSampler(EmbeddedSampler):
    """Keeps the best of `candidates` batches by the distance between histograms of `bins` bins."""

    def __init__(
        self,
        *,
        candidates: int = 10,
        bins: int = 50,
        cost: Literal["w1", "roth_code"] = "w1",
        replace_classes: bool = False,
        **bank: Any,
    ) -> None:
        super().__init__(**bank)
        require(candidates >= 1, f"sampler.candidates must be at least 1; got {candidates}")
        require(bins >= 2, f"sampler.bins must be at least 2; got {bins}")
        refusal = f"a batch of {self.batch_size} has no distances to match: the batch size must be at least 2"
        require(self.batch_size >= 2, refusal)
        self.class_slots(distinct=not replace_classes)
        self._n_candidates, self._n_bins = candidates, bins
        self._cost, self._replace_classes = cost, replace_classes

    def choose(self, generator: torch.Generator) -> torch.Tensor:
        drawn = self.draw_candidates(self._n_candidates, self._replace_classes, generator)
        points = self.points(drawn.rows, generator)
        histograms = distance_histograms(points, drawn.batches, self._n_bins)
        costs = wasserstein(histograms.parts, histograms.whole, histograms.width)
        if self._cost == "roth_code":
            parts = points[drawn.batches]
            means = torch.linalg.vector_norm(parts.mean(1) - points.mean(0), dim=1)
            deviations = torch.linalg.vector_norm(parts.std(1, correction=0) - points.std(0, correction=0), dim=1)
            heights = (histograms.parts.sort(1).values - histograms.whole.sort().values).abs().mean(1)
            # 75 * 2 * W1 between the heights of the histograms, taken as samples.
            costs = torch.as_tensor(means + deviations + 150 * heights)
        # A candidate of nothing but repeats has no distances at all.
        costs = costs.masked_fill(histograms.parts.sum(1) == 0, torch.inf)
        return drawn.rows[drawn.batches[costs.argmin()]]

    def known_bugs(self) -> tuple[str, ...]:
        if self._cost != "roth_code":
            return ()
        return ("sampler.cost = 'roth_code': permuted histograms cost nothing, heights are taken for samples (E43)",)


def distance_histograms(points: torch.Tensor, subsets: torch.Tensor, n_bins: int) -> DistanceHistograms:
    """Return the histograms of the distances among `points` (n, d), and among each subset (m, b) of them.

    The bins divide the range from the smallest to the largest distance among the points. A point that a subset holds
    twice has no distance to itself: that pair is left out.
    """
    n, (m, b) = len(points), subsets.shape
    matrix = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    upper, pairs = torch.ones(n, n, dtype=torch.bool).triu(1), torch.ones(b, b, dtype=torch.bool).triu(1)
    distances = matrix[upper] if n > 1 else matrix.flatten()
    low, high = distances.min(), distances.max()
    width = float(high - low) / n_bins
    scale = 1 / width if width > 0 else 0.0
    bins = ((matrix - low) * scale).long().clamp(0, n_bins - 1)
    whole = torch.bincount(bins[upper], minlength=n_bins)
    left, right = subsets[:, :, None], subsets[:, None, :]
    is_counted = pairs & (left != right)
    places = bins[left, right] + n_bins * torch.arange(m)[:, None, None]
    parts = torch.bincount(places[is_counted], minlength=m * n_bins).view(m, n_bins)
    shares = [counts.double() / counts.sum(-1, keepdim=True).clamp_min(1) for counts in (whole, parts)]
    return DistanceHistograms(shares[0], shares[1], width)


def wasserstein(left: torch.Tensor, right: torch.Tensor, width: float) -> torch.Tensor:
    """Return the first Wasserstein distance between histograms on the same bins of `width`."""
    return (left - right).cumsum(-1).abs().sum(-1) * width
