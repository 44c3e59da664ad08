"""FRD: the best of the candidates, by a loop with matrix roots."""

import numpy as np
import pytest
import torch

from fairground.samplers import FrechetSampler
from fairground.samplers._class_draws import ClassRows, draw_candidates
from fairground.samplers.frechet import frechet_distances
from tests.samplers.splits import clustered, even_split, seeded

LABELS = even_split(n_classes=30, size=12)


def by_roots(points, subset):
    """The formula, with a root of each product of covariances."""
    part = points[subset]
    shift = part.mean(0) - points.mean(0)
    own, whole = np.cov(part.T), np.cov(points.T)
    # The root of a product of covariances, by symmetric roots: no small imaginary parts to drop.
    values, vectors = np.linalg.eigh(whole)
    half = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    root = np.sqrt(np.clip(np.linalg.eigvalsh(half @ own @ half), 0, None)).sum()
    return shift @ shift + np.trace(own + whole) - 2 * root


@pytest.mark.parametrize(("dimension", "per_class"), [(8, 4), (8, 2), (48, 4)])
@pytest.mark.parametrize("replace_classes", [False, True])
def test_the_best_of_the_candidates_is_taken(dimension, per_class, replace_classes):
    embeddings = torch.nn.functional.normalize(clustered(LABELS, dimension=dimension, spread=0.7))
    sampler = FrechetSampler(
        labels=LABELS, batch_size=40, per_class=per_class, pool=200, replace_classes=replace_classes
    )
    sampler.fill(embeddings)
    chosen = set()
    for seed in range(6):
        rows, batches = draw_candidates(
            ClassRows(LABELS),
            pool=200,
            n_candidates=10,
            n_slots=40 // per_class,
            per_class=per_class,
            replace_classes=replace_classes,
            generator=seeded(seed),
        )
        points = embeddings[rows].double().numpy()
        best = int(np.argmin([by_roots(points, batch.numpy()) for batch in batches]))
        assert torch.equal(sampler.draw(seeded(seed)), rows[batches[best]])
        chosen.add(best)
    assert len(chosen) > 2


def subsets_of(n, b, m, seed=0):
    return torch.stack([torch.randperm(n, generator=seeded(seed + i))[:b] for i in range(m)])


def test_covariances_diag_1_4_and_diag_4_9_a_step_apart_give_three():
    # 1 + (1 - 2)^2 + (2 - 3)^2 = 3. The first four points have mean (0, 0) and scatter 3 diag(1, 4); the others have
    # mean (2, 0) and the scatter that brings the whole to 7 diag(4, 9).
    a, c = 8.5**0.5, 25.5**0.5
    first = torch.tensor([[1.5**0.5, 0], [-(1.5**0.5), 0], [0, 6**0.5], [0, -(6**0.5)]], dtype=torch.float64)
    others = torch.tensor([[2 + a, 0], [2 - a, 0], [2, c], [2, -c]], dtype=torch.float64)
    points = torch.cat([first, others])
    torch.testing.assert_close(points.T.cov(), torch.diag(torch.tensor([4.0, 9.0]).double()))
    (distance,) = frechet_distances(points, torch.tensor([[0, 1, 2, 3]]))
    assert distance.item() == pytest.approx(3, abs=1e-9)


@pytest.mark.parametrize(("n", "d", "b"), [(60, 5, 20), (60, 40, 12), (30, 50, 12), (300, 140, 20)])
def test_agrees_with_matrix_roots(n, d, b):
    points = torch.randn(n, d, generator=seeded(), dtype=torch.float64) + 3
    subsets = subsets_of(n, b, 6)
    expected = [by_roots(points.numpy(), subset.numpy()) for subset in subsets]
    np.testing.assert_allclose(frechet_distances(points, subsets).numpy(), expected, rtol=1e-7)


def test_a_repeated_point_counts_twice():
    points = torch.randn(20, 3, generator=seeded(), dtype=torch.float64)
    subset = torch.tensor([[0, 0, 5, 7, 7, 9]])
    expected = by_roots(points.numpy(), subset[0].numpy())
    assert frechet_distances(points, subset).item() == pytest.approx(expected, rel=1e-7)


def test_identical_points_and_the_whole_itself_are_at_no_distance():
    points = torch.randn(40, 6, generator=seeded(), dtype=torch.float64)
    assert frechet_distances(points, torch.arange(40).unsqueeze(0)).item() == pytest.approx(0, abs=1e-9)
    assert frechet_distances(torch.ones(1, 3), torch.zeros(2, 4, dtype=torch.long)).tolist() == [0, 0]
    for value in (0.0, 1.0, -3e4):
        found = frechet_distances(torch.full((12, 5), value), subsets_of(12, 4, 3))
        torch.testing.assert_close(found, torch.zeros(3).double(), atol=1e-6, rtol=0)
