import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from fairground.metrics import AmiMetric, F1Metric, NmiMetric, PurityMetric
from fairground.retrieval.contingency import contingency

LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
CLUSTERS = np.array([0, 0, 1, 1, 1, 1, 1, 2, 2, 2])


def test_worked_example():
    table = contingency(LABELS, CLUSTERS)
    assert NmiMetric().score(table) == pytest.approx(0.579419, abs=1e-6)
    assert AmiMetric().score(table) == pytest.approx(0.422619, abs=1e-6)
    # Seven pairs together, of 14 in one cluster and 12 of one class.
    assert F1Metric().score(table) == pytest.approx(2 * 7 / (14 + 12))
    # Majorities 2, 3 and 3 of ten rows.
    assert PurityMetric().score(table) == pytest.approx(0.8)


@pytest.mark.parametrize("metric", [NmiMetric(), AmiMetric(), F1Metric(), PurityMetric()])
def test_a_perfect_clustering_scores_one_whatever_the_clusters_are_called(metric):
    assert metric.score(contingency(LABELS, 7 - LABELS)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 13, 60])
def test_information_agrees_with_scikit_learn(n_classes):
    draw = np.random.default_rng(n_classes)
    labels = draw.integers(n_classes, size=500)
    clusters = np.where(draw.random(500) < 0.4, labels, draw.integers(n_classes, size=500))
    table = contingency(labels, clusters)
    nmi, ami = sklearn_metrics.normalized_mutual_info_score, sklearn_metrics.adjusted_mutual_info_score
    assert NmiMetric().score(table) == pytest.approx(nmi(labels, clusters), abs=1e-12)
    assert AmiMetric().score(table) == pytest.approx(ami(labels, clusters), abs=1e-9)


def test_pairs_agree_with_a_loop():
    draw = np.random.default_rng(3)
    labels, clusters = draw.integers(5, size=60), draw.integers(6, size=60)
    both = same_class = same_cluster = 0
    for i in range(60):
        for j in range(i):
            both += labels[i] == labels[j] and clusters[i] == clusters[j]
            same_class += labels[i] == labels[j]
            same_cluster += clusters[i] == clusters[j]
    precision, recall = both / same_cluster, both / same_class
    expected = 2 * precision * recall / (precision + recall)
    assert F1Metric().score(contingency(labels, clusters)) == pytest.approx(expected)


def test_one_class_in_one_cluster_is_perfect_and_no_shared_pair_is_zero():
    together = contingency(np.zeros(4, int), np.zeros(4, int))
    assert NmiMetric().score(together) == AmiMetric().score(together) == 1
    apart = contingency(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    assert F1Metric().score(apart) == 0
    assert NmiMetric().score(apart) == pytest.approx(0, abs=1e-12)
