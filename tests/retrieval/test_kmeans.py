from itertools import permutations

import faiss
import numpy as np
import pytest
import torch
from sklearn.metrics.cluster import expected_mutual_information as reference

from fairground.errors import InputError
from fairground.retrieval.contingency import contingency, expected_mutual_information, mutual_information
from fairground.retrieval.kmeans import kmeans


def blobs(n, k, d, noise, seed=0):
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(k, d))[draw.integers(k, size=n)] + noise * draw.normal(size=(n, d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def lloyd(points, centroids, rounds):
    """The textbook loop, in float64."""
    points, centroids = points.astype(np.float64), centroids.astype(np.float64)
    for _ in range(rounds):
        nearest = ((points[:, None] - centroids) ** 2).sum(-1).argmin(1)
        centroids = np.stack([points[nearest == k].mean(0) for k in range(len(centroids))])
    nearest = ((points[:, None] - centroids) ** 2).sum(-1).argmin(1)
    return nearest, ((points - centroids[nearest]) ** 2).sum()


def run(points, k, seed=0, **settings):
    return kmeans(points, k, generator=torch.Generator().manual_seed(seed), **settings)


@pytest.mark.parametrize("rounds", [1, 3, 20])
def test_agrees_with_a_loop(rounds):
    points = blobs(700, 12, 6, 0.7)
    start = torch.randperm(700, generator=torch.Generator().manual_seed(0))[:12].numpy()
    assignment, inertia = lloyd(points, points[start], rounds)
    found = run(points, 12, rounds=rounds)
    assert (found.assignment == assignment).mean() > 0.995
    assert found.inertia == pytest.approx(inertia, rel=1e-4)


def test_agrees_with_faiss_from_the_same_seed():
    points = blobs(3000, 60, 32, 1.0)
    peer = faiss.Kmeans(32, 60, niter=20, seed=1234)
    peer.train(points)
    found = run(points, 60, seed=1235)
    assert found.inertia == pytest.approx(float(peer.index.search(points, 1)[0].sum()), rel=1e-4)


def test_threads_change_nothing_and_the_seed_decides():
    points = blobs(1500, 40, 16, 1.0)
    one, two, other = run(points, 40, threads=1), run(points, 40, threads=2), run(points, 40, seed=7)
    assert (one.assignment == two.assignment).all()
    assert one.inertia == two.inertia
    assert (one.assignment != other.assignment).any()


def test_empty_clusters_move_to_far_points():
    # Nine equal points and three others: four clusters can hold them without any loss.
    points = np.array([[0.0, 0.0]] * 9 + [[5.0, 0.0], [0.0, 7.0], [9.0, 9.0]])
    for seed in range(6):
        assert run(points, 4, seed).inertia == 0


def test_as_many_clusters_as_points_and_one_cluster():
    points = blobs(20, 5, 3, 1.0)
    assert run(points, 20).inertia == 0
    assert (run(points, 1).assignment == 0).all()


def test_refusal():
    with pytest.raises(InputError, match=r"n_clusters must be in 1\.\.20, the number of points; got 21"):
        run(blobs(20, 5, 3, 1.0), 21)


def test_expected_information_is_the_mean_over_all_shufflings():
    labels, clusters = [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2]
    seen = [mutual_information(contingency(np.array(labels), np.array(some))) for some in permutations(clusters)]
    found = expected_mutual_information(np.array([2, 2, 2]), np.array([3, 2, 1]))
    assert found == pytest.approx(np.mean(seen), abs=1e-12)


@pytest.mark.parametrize("terms", [5, 2**20])
def test_expected_information_agrees_with_scikit_learn_in_any_block(terms, monkeypatch):
    monkeypatch.setattr("fairground.retrieval.contingency.TERMS", terms)
    draw = np.random.default_rng(0)
    labels, clusters = draw.integers(30, size=800), draw.integers(4, size=800) ** 2
    table = contingency(labels, clusters)
    dense = np.zeros((30, 4), np.int64)
    dense[table.classes, table.clusters] = table.counts
    found = expected_mutual_information(table.class_sizes, table.cluster_sizes)
    assert found == pytest.approx(reference(dense, 800), abs=1e-9)
