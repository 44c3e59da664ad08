import numpy as np
import pytest

from fairground.evaluation import EmbeddingView
from tests.retrieval.test_ranks import lattice


@pytest.mark.parametrize("threads", [1, 2])
def test_nearest_agree_with_a_sort_where_many_distances_are_equal(threads):
    points, labels = lattice(600, 20, 3)
    distances = ((points[:, None] - points) ** 2).sum(-1)
    np.fill_diagonal(distances, np.inf)
    expected = np.argsort(distances, axis=1, kind="stable")[:, :9]
    view = EmbeddingView(points, labels, normalise=False, threads=threads)
    assert (view.neighbour_numbers(9) == expected).all()


def test_fewer_references_than_asked_for_leave_places_empty():
    view = EmbeddingView(np.eye(3), np.array([0, 1, 0]))
    assert view.neighbour_numbers(4).tolist() == [[1, 2, -1, -1], [0, 2, -1, -1], [0, 1, -1, -1]]
