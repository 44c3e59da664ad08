"""Histograms of distances against NumPy's."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist
from scipy.stats import wasserstein_distance

from fairground.samplers.distance_distribution import distance_histograms, wasserstein
from tests.samplers.splits import seeded


@pytest.mark.parametrize("n", [3, 50, 300])
@pytest.mark.parametrize("n_bins", [50, 7])
def test_agrees_with_numpy(n, n_bins):
    points = torch.randn(n, 5, generator=seeded(), dtype=torch.float64)
    subsets = torch.stack([torch.randperm(n, generator=seeded(i))[: n // 2 + 1] for i in range(4)])
    whole, parts, width = distance_histograms(points, subsets, n_bins)
    distances = pdist(points.numpy())
    span = (distances.min(), distances.max())
    expected, _ = np.histogram(distances, n_bins, span)
    np.testing.assert_allclose(whole, expected / expected.sum(), atol=1e-12)
    assert width == pytest.approx((span[1] - span[0]) / n_bins)
    for part, subset in zip(parts, subsets.numpy(), strict=True):
        expected, _ = np.histogram(pdist(points.numpy()[subset]), n_bins, span)
        np.testing.assert_allclose(part, expected / expected.sum(), atol=1e-12)


def test_points_on_a_line_by_hand():
    # 0, 1 and 3 are 1, 2 and 3 apart: with two bins, [1, 2) has one distance and [2, 3] two.
    points = torch.tensor([[0.0], [1.0], [3.0]])
    whole, parts, width = distance_histograms(points, torch.tensor([[0, 1], [2, 0]]), 2)
    assert whole.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert parts.tolist() == [[1, 0], [0, 1]]
    assert width == 1


def test_a_point_has_no_distance_to_itself():
    points = torch.tensor([[0.0], [1.0], [3.0]])
    _, parts, _ = distance_histograms(points, torch.tensor([[0, 0, 2], [1, 1, 1]]), 2)
    assert parts.tolist() == [[0, 1], [0, 0]]


def test_identical_points_share_the_first_bin():
    whole, parts, width = distance_histograms(torch.ones(6, 3), torch.tensor([[0, 1, 2]]), 4)
    assert whole.tolist() == [1, 0, 0, 0]
    assert parts.tolist() == [[1, 0, 0, 0]]
    assert width == 0


def test_wasserstein_agrees_with_scipy():
    left, right = np.random.default_rng(0).random((2, 50))
    left, right = left / left.sum(), right / right.sum()
    places = 0.3 * np.arange(50)
    expected = wasserstein_distance(places, places, left, right)
    assert wasserstein(torch.from_numpy(left), torch.from_numpy(right), 0.3).item() == pytest.approx(expected, rel=1e-9)
