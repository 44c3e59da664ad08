from math import exp

import pytest
import torch

from fairground.losses import RecallAtKLoss
from tests.losses import loops
from tests.losses.fixtures import F8, X


def _sigmoid(value):
    return 1 / (1 + exp(-value)) if value > -700 else 0.0


def test_value_by_hand():
    # On a square the positive is tied with one negative: rank 1.5, the other stands far behind.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    value = RecallAtKLoss(ks=[1, 2], count_temperature=0.5)(embeddings, torch.tensor([0, 0, 1, 1]))
    recall = (_sigmoid((1 - 1.5) / 0.5) + _sigmoid((2 - 1.5) / 0.5)) / 2
    assert value.item() == pytest.approx(1 - recall, abs=1e-6)


def _oracle(x, labels, ks, rank_temperature, count_temperature, *, query_in_ranking):
    s = loops.cosines(x)
    terms = []
    for a in range(len(x)):
        near = loops.positives(labels, a)
        others = [j for j in range(len(x)) if j != a or query_in_ranking]
        for k in ks if near else ():
            within = 0.0
            for p in near:
                rank = 1 + sum(_sigmoid((s[a][j] - s[a][p]) / rank_temperature) for j in others if j != p)
                within += _sigmoid((k - rank) / count_temperature)
            terms.append(1 - min(within, k) / min(k, len(near)))
    return loops.mean(terms)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("query_in_ranking", [False, True])
@pytest.mark.parametrize("count_temperature", [1.0, 4.0])
def test_agrees_with_a_loop(labels, query_in_ranking, count_temperature):
    settings = {"count_temperature": count_temperature, "query_in_ranking": query_in_ranking}
    expected = _oracle(X, labels, [1, 2, 4, 8, 16], 0.05, **settings)
    assert RecallAtKLoss(rank_temperature=0.05, **settings)(X, labels).item() == pytest.approx(expected, abs=1e-9)


def test_more_positives_than_places_fill_no_more_than_the_places():
    # Ten coincident samples of one class: nine positives of rank 5, and a soft count above 1 for k = 1.
    embeddings = torch.cat([torch.tensor([[1.0, 0.0]]).expand(10, 2), torch.tensor([[-1.0, 0.0]])])
    labels = torch.tensor([0] * 10 + [1])
    value, gradient = loops.gradient_of(RecallAtKLoss(ks=(1,), count_temperature=5.0), embeddings, labels)
    assert 9 * _sigmoid((1 - 5) / 5) > 1
    assert value == pytest.approx(0, abs=1e-6)
    assert not gradient.any()


@pytest.mark.parametrize("query_in_ranking", [False, True])
def test_edges(query_in_ranking):
    loss = RecallAtKLoss(query_in_ranking=query_in_ranking)
    loops.check_edges(loss)


def test_the_query_in_its_own_ranking_costs_a_place():
    bug = RecallAtKLoss(query_in_ranking=True)
    assert bug(X, F8) > RecallAtKLoss()(X, F8)
    assert "one too high" in bug.known_bugs()[0]
    assert RecallAtKLoss().known_bugs() == ()
