import faiss
import numpy as np
import pytest
import torch

from fairground.errors import InputError
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
