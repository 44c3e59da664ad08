"""What every metric owes, run over whatever is in the room: a new file is tested here without a line of its own."""

import numpy as np
import pytest

from fairground.contracts.metric import ClusteringMetric, RankingMetric
from fairground.evaluation import evaluate, metric_named
from fairground.spec import list_room, spelled
from tests.metrics.oracle import hit_lists, ranking

WORDS = [spelled(name) for name in list_room("metrics")]


def kind_of(word):
    return type(metric_named(word))


RANKING = [word for word in WORDS if issubclass(kind_of(word), RankingMetric)]
CLUSTERING = [word for word in WORDS if issubclass(kind_of(word), ClusteringMetric)]


def lattice(n=90, n_classes=11, seed=0):
    draw = np.random.default_rng(seed)
    return draw.integers(-3, 4, (n, 3)), draw.integers(n_classes, size=n)


def better(word, left, right):
    return left >= right if kind_of(word).higher_is_better else left <= right


@pytest.mark.parametrize("word", WORDS)
def test_lies_between_zero_and_one_and_a_perfect_space_is_best(word):
    points, labels = lattice()
    perfect = np.eye(11)[labels]
    worst = -np.eye(11)[np.arange(90) % 11]
    scores = [evaluate(rows, labels, [word], normalise=False, threads=2)[word] for rows in (perfect, points, worst)]
    # A score adjusted for chance may fall a little below 0.
    assert all(-0.2 <= score <= 1 + 1e-12 for score in scores)
    assert better(word, scores[0], scores[1])
    assert better(word, scores[0], scores[2])


@pytest.mark.parametrize("word", WORDS)
def test_order_of_rows_names_of_classes_and_units_do_not_matter(word):
    draw = np.random.default_rng(0)
    labels = draw.integers(9, size=80)
    points = draw.normal(size=(9, 5))[labels] + draw.normal(size=(80, 5))
    settings = {} if word in CLUSTERING else {"normalise": False}
    whole = evaluate(points, labels, [word], **settings)[word]
    assert evaluate(points * 4, labels, [word], **settings)[word] == pytest.approx(whole, abs=1e-12)
    renamed = np.array([f"class {9 - label}" for label in labels])
    assert evaluate(points, renamed, [word], **settings)[word] == pytest.approx(whole, abs=1e-12)
    if word not in CLUSTERING:  # k-means starts from rows drawn by their number
        order = draw.permutation(80)
        assert evaluate(points[order], labels[order], [word], **settings)[word] == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("word", WORDS)
def test_inputs_are_left_alone(word):
    points, labels = lattice()
    points = points + 0.5
    before = points.copy(), labels.copy()
    evaluate(points, labels, [word])
    assert (points == before[0]).all()
    assert (labels == before[1]).all()


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(("threads", "block"), [(2, None), (1, 100), (3, 250)])
def test_blocks_and_threads_change_nothing(word, threads, block):
    draw = np.random.default_rng(1)
    labels = draw.integers(12, size=600)
    points = (draw.normal(size=(12, 8))[labels] + draw.normal(size=(600, 8))).astype(np.float32)
    points[40:45] = points[7]
    one = evaluate(points, labels, [word], threads=1)
    assert evaluate(points, labels, [word], threads=threads, block=block * 20 if block else None) == one


@pytest.mark.parametrize("word", RANKING)
def test_agrees_with_a_loop_where_distances_are_equal(word):
    points, labels = lattice()
    labels[5] = 77  # a class of one
    metric = metric_named(word)
    lists = hit_lists(points, points, lambda i, j: labels[i] == labels[j], own=range(90), unit=False)
    values = metric.per_query(ranking(lists))
    assert evaluate(points, labels, [word], normalise=False, lone="zero")[word] == pytest.approx(values.mean())
    able = np.array([any(hits) for hits in lists])
    assert evaluate(points, labels, [word], normalise=False)[word] == pytest.approx(values[able].mean())
