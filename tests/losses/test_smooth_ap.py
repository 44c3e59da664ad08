from math import exp

import pytest
import torch

from fairground.losses import SmoothApLoss
from tests.losses import loops
from tests.losses.fixtures import F8, X


def _sigmoid(value):
    return 1 / (1 + exp(-value)) if value > -700 else 0.0


def test_value_by_hand():
    # On a square the positive, a neighbour, is tied with one negative, and the other stands far behind.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    value = SmoothApLoss(temperature=0.01)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(1 - 1 / (1 + 0.5), abs=1e-6)


def _oracle(x, labels, temperature, *, query_in_ranking):
    s = loops.cosines(x)
    terms = []
    for a in range(len(x)):
        near = loops.positives(labels, a)
        if not near:
            continue
        near = near + [a] * query_in_ranking
        everyone = [j for j in range(len(x)) if j != a or query_in_ranking]

        def rank(p, among, a=a):
            return 1 + sum(_sigmoid((s[a][j] - s[a][p]) / temperature) for j in among if j != p)

        terms.append(1 - loops.mean([rank(p, near) / rank(p, everyone) for p in near]))
    return loops.mean(terms)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("query_in_ranking", [False, True])
@pytest.mark.parametrize("temperature", [0.01, 0.2])
def test_agrees_with_a_loop(labels, query_in_ranking, temperature):
    loss = SmoothApLoss(temperature=temperature, query_in_ranking=query_in_ranking)
    expected = _oracle(X, labels, temperature, query_in_ranking=query_in_ranking)
    assert loss(X, labels).item() == pytest.approx(expected, abs=1e-9)


def test_at_a_low_temperature_it_is_average_precision():
    # Two positives, at places 1 and 3 of the anchor's list; every other class has one sample.
    angles = torch.deg2rad(torch.tensor([0.0, 10.0, -20.0, 30.0, 100.0, 150.0], dtype=torch.float64))
    embeddings = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.tensor([0, 0, 1, 0, 2, 3])
    first = (1 / 1 + 2 / 3) / 2
    second = (1 / 1 + 2 / 2) / 2
    fourth = (1 / 1 + 2 / 2) / 2
    assert SmoothApLoss(temperature=1e-4)(embeddings, labels).item() == pytest.approx(
        1 - (first + second + fourth) / 3, abs=1e-9
    )


@pytest.mark.parametrize("query_in_ranking", [False, True])
def test_edges(query_in_ranking):
    loss = SmoothApLoss(query_in_ranking=query_in_ranking)
    loops.check_edges(loss)
    assert len(loss.known_bugs()) == query_in_ranking


def test_the_query_in_its_own_ranking_flatters_the_score():
    assert SmoothApLoss(query_in_ranking=True)(X, F8) < SmoothApLoss()(X, F8)
    assert "a hit that is none" in SmoothApLoss(query_in_ranking=True).known_bugs()[0]
