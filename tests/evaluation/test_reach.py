"""How far down the lists metrics look, together and on a view that is asked twice."""

import numpy as np
import pytest

from fairground.contracts.metric import RankingMetric, Reach
from fairground.evaluation import EmbeddingView, evaluate_in_detail, view
from fairground.evaluation.metric_names import metric_named
from fairground.evaluation.reach import is_within, widest_reach
from fairground.evaluation.relevance import SameClass

#: classes of three, two and one: R is 2, 1 and 0
LABELS = np.array([0, 0, 0, 1, 1, 2])


def reach_of(*words):
    return widest_reach([metric_named(word) for word in words], SameClass(LABELS, LABELS, np.arange(6)))


@pytest.mark.parametrize(
    ("words", "first", "others"),
    [
        (["recall@1"], [1] * 6, [0] * 6),
        (["map@r"], [2, 2, 2, 1, 1, 0], [2, 2, 2, 1, 1, 0]),
        (["r_precision", "recall@8"], [8] * 6, [2, 2, 2, 1, 1, 0]),
        (["map_at_c", "precision@2"], [3, 3, 3, 2, 2, 2], [3, 3, 3, 2, 2, 2]),
        (["map@5", "ndcg@7", "precision_at_c"], [7] * 6, [7] * 6),
        (["mrr", "recall@1"], [2**63 - 1] * 6, [0] * 6),
    ],
)
def test_the_widest_reach_holds_for_all(words, first, others):
    reach = reach_of(*words)
    assert reach.first.tolist() == first
    assert reach.others.tolist() == others


@pytest.mark.parametrize("word", ["map", "ndcg"])
def test_a_metric_of_the_whole_list_reaches_all_the_way(word):
    assert reach_of("recall@1", word) is None


class PlainMetric(RankingMetric):
    """A metric that says nothing of its reach."""

    def per_query(self, ranking):
        return 1 / ranking.first


def test_a_metric_that_says_nothing_reaches_all_the_way():
    assert widest_reach([PlainMetric()], SameClass(LABELS, LABELS, np.arange(6))) is None


def test_what_is_within():
    near, far = Reach(np.array([1, 1]), np.array([0, 2])), Reach(np.array([1, 3]), np.array([0, 2]))
    assert is_within(near, far)
    assert is_within(near, None)
    assert is_within(None, None)
    assert not is_within(far, near)
    assert not is_within(None, far)


def test_a_view_ranks_again_only_to_go_further_down(monkeypatch):
    draw = np.random.default_rng(0)
    points, labels = draw.normal(size=(90, 4)).astype(np.float32), np.arange(90) % 15
    asked = []
    rank = view.rank
    monkeypatch.setattr(view, "rank", lambda *a, **k: (asked.append(a[2]), rank(*a, **k))[1])
    mine = EmbeddingView(points, labels)
    scores = {}
    for word in ("recall@5", "recall@2", "map@r", "recall@1", "mrr", "map", "r_precision"):
        scores |= evaluate_in_detail(mine, [word]).scores
    assert len(asked) == 4  # recall@5, map@r, mrr, map
    assert asked[-1] is None
    assert scores == evaluate_in_detail(EmbeddingView(points, labels), list(scores)).scores


def test_places_beyond_the_reach_are_not_told_apart():
    points = np.array([[1, 0], [0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0, 1]], np.float32)
    labels = np.array([0, 1, 1, 1, 0])
    ((_, ranking),) = EmbeddingView(points, labels).rankings([metric_named("recall@2")])
    # Queries in order of class: 0 and 4 find each other last, at place 4 and beyond 2, which reads 6.
    assert ranking.ranks[:2].tolist() == [6, 6]
    # The others find one another at places 1 or 2, and nobody asked for the second they find.
    assert ranking.ranks[2:].tolist() == [2, 6, 1, 6, 1, 6]
