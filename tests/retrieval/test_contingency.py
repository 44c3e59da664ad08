from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics.cluster import expected_mutual_information as reference

from fairground.retrieval.contingency import contingency, expected_mutual_information, mutual_information


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
