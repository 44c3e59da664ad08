"""DDM: the best of the candidates, by a loop over them."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist
from scipy.stats import wasserstein_distance

from fairground.samplers import DistanceDistributionSampler
from fairground.samplers._class_draws import ClassRows, draw_candidates
from fairground.samplers.distance_distribution import distance_histograms, wasserstein
from tests.samplers.splits import clustered, draws, even_split, seeded

LABELS = even_split(n_classes=30, size=12)


def drawn_like_the_sampler(generator, pool, batch_size, per_class, replace_classes=False):
    return draw_candidates(
        ClassRows(LABELS),
        pool=pool,
        n_candidates=10,
        n_slots=batch_size // per_class,
        per_class=per_class,
        replace_classes=replace_classes,
        generator=generator,
    )


def w1(points, batch):
    distances = pdist(points)
    edges = np.linspace(distances.min(), distances.max(), 51)
    whole, part = np.histogram(distances, edges)[0], np.histogram(pdist(points[batch]), edges)[0]
    return wasserstein_distance(edges[:-1], edges[:-1], part, whole)


def roth_code(points, batch):
    distances = pdist(points)
    edges = np.linspace(distances.min(), distances.max(), 51)
    whole, part = np.histogram(distances, edges)[0], np.histogram(pdist(points[batch]), edges)[0]
    heights = wasserstein_distance(whole / whole.sum(), part / part.sum())
    shift = np.linalg.norm(points.mean(0) - points[batch].mean(0))
    return shift + np.linalg.norm(points.std(0) - points[batch].std(0)) + 75 * 2 * heights


@pytest.mark.parametrize(("cost", "formula"), [("w1", w1), ("roth_code", roth_code)])
@pytest.mark.parametrize("per_class", [2, 4])
def test_the_best_of_the_candidates_is_taken(cost, formula, per_class):
    embeddings = torch.nn.functional.normalize(clustered(LABELS, spread=0.7))
    sampler = DistanceDistributionSampler(labels=LABELS, batch_size=40, per_class=per_class, pool=200, cost=cost)
    sampler.fill(embeddings)
    chosen = set()
    for seed in range(8):
        rows, batches = drawn_like_the_sampler(seeded(seed), 200, 40, per_class)
        points = embeddings[rows].double().numpy()
        best = int(np.argmin([formula(points, batch.numpy()) for batch in batches]))
        assert torch.equal(sampler.draw(seeded(seed)), rows[batches[best]])
        chosen.add(best)
    assert len(chosen) > 3


def test_a_candidate_of_repeats_alone_is_never_better_than_one_with_distances():
    # Class 0 has one image: a batch of it twice has no distances. Half of the candidates are such batches.
    labels = torch.tensor([0] + [1] * 10)
    settings = {"per_class": 2, "pool": 60, "candidates": 30, "replace_classes": True}
    sampler = DistanceDistributionSampler(labels=labels, batch_size=2, **settings)
    sampler.fill(torch.randn(11, 3, generator=seeded()))
    assert all(set(batch) != {0} for batch in draws(sampler, 50))


def test_a_pool_of_one_image_gives_that_image():
    labels = torch.tensor([0, 1])
    sampler = DistanceDistributionSampler(labels=labels, batch_size=2, per_class=2, pool=2, replace_classes=True)
    sampler.fill(torch.eye(2))
    assert all(len(set(batch)) == 1 for batch in draws(sampler, 5))


def test_the_released_cost_owns_up_to_its_bug():
    assert "E43" in DistanceDistributionSampler(labels=LABELS, batch_size=40, cost="roth_code").known_bugs()[0]
    assert DistanceDistributionSampler(labels=LABELS, batch_size=40).known_bugs() == ()


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
