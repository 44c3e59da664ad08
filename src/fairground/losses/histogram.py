"""Histogram loss: the probability that a random negative pair is more alike than a random positive pair.

Formula
    nodes t_r = -1 + 2 r / (nodes - 1), r = 0..nodes-1; weight w(s, r) = max(0, 1 - |s - t_r| (nodes - 1) / 2)
    h+(r), h-(r) = mean over positive, negative unordered pairs of w(s_ij, r), with s the cosine
    L = sum_r h-(r) sum_{q <= r} h+(q)

Paper
    Ustinova and Lempitsky, "Learning deep embeddings with histogram loss", NIPS 2016, section 3.

Departures from the paper
    The paper's closed intervals count a cosine on a node twice; the triangular weight does not. Cosines are kept within
    [-1, 1]. `roth_code` finds nodes by comparing floating-point numbers, as the code of Roth et al. does: harmless for
    65 nodes, but for the 11 of their Stanford Online Products runs the upper node is missed in 6 of 10 intervals.
"""

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import Integer, Loss, Pairs, Triplets, Tuples, as_pairs
from fairground.functional import SoftBins, normalize, pair_masks, running_sums, soft_bins
from fairground.kernels import ranking_losses


class HistogramLoss(Loss):
    """`nodes` is the number of points the cosines, -1 to 1, are rounded to, half to each neighbour."""

    accepts = (Pairs, Triplets)
    takes_label_sets = True
    tunable = {"nodes": Integer(low=5, high=201)}
    bounds = {"nodes": "[3, inf)"}
    kernel = ranking_losses.histogram

    def __init__(self, *, nodes: int = 65, roth_code: bool = False) -> None:
        super().__init__()
        self.nodes, self.roth_code = nodes, roth_code
        self.finds = _finds(nodes, roth_code=roth_code)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        positive, negative = self.unordered_pairs(labels, tuples)
        positions = ((z @ z.T + 1) * ((self.nodes - 1) / 2)).clamp(0, self.nodes - 1)
        overlap = self._histogram(positions, negative) @ running_sums(self._histogram(positions, positive))
        return torch.where(positive.any() & negative.any(), overlap, 0)

    def known_bugs(self) -> tuple[str, ...]:
        lost = f"{self.finds[1].count(0.0)} of {self.nodes - 1} intervals"
        bug = f"histogram.roth_code drops the upper node in {lost} by comparing floats, as the code of Roth et al. does"
        return (bug,) if self.roth_code else ()

    @staticmethod
    def unordered_pairs(labels: Tensor, tuples: Tuples | None) -> tuple[Tensor, Tensor]:
        """Return the positive and the negative pairs (n, n), each pair in both orders and so counted twice."""
        if tuples is None:
            return pair_masks(labels)
        n, pairs = len(labels), as_pairs(tuples)
        nothing = labels.new_zeros(n * n, dtype=torch.bool)
        positive = nothing.index_fill(0, pairs.positive_anchor * n + pairs.positive, True).view(n, n)
        negative = nothing.index_fill(0, pairs.negative_anchor * n + pairs.negative, True).view(n, n)
        return positive | positive.T, negative | negative.T

    def _histogram(self, positions: Tensor, mask: Tensor) -> Tensor:
        """Return the shares (nodes,) of the marked positions (n, n), which add up to 1."""
        lower, upper = soft_bins(positions.flatten(), mask.flatten().to(positions.dtype), self.nodes - 1)
        finds_lower, finds_upper = (positions.new_tensor(finds) for finds in self.finds)
        return SoftBins(lower * finds_lower, upper * finds_upper).histogram() / mask.sum().clamp_min(1)


def _finds(nodes: int, *, roth_code: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return for each interval 1 if its lower, its upper node gets its share, else 0: all do without `roth_code`."""
    intervals, width = range(nodes - 1), 2 / (nodes - 1)
    if not roth_code:
        return (1.0,) * (nodes - 1), (1.0,) * (nodes - 1)
    support = [r * width - 1 for r in intervals] + [1.0]
    lower = tuple(float(r * width - 1 == support[r]) for r in intervals)
    return lower, tuple(float(r * width - 1 == support[r + 1] - width) for r in intervals)
