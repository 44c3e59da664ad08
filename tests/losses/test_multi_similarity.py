from math import exp, inf, log

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.losses import MultiSimilarityLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    value = MultiSimilarityLoss(alpha=2.0, beta=4.0, base=0.5)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(log(1 + exp(-2 * 0.5)) / 2 + log(1 + 2 * exp(-4 * 0.5)) / 4, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "labels", "value"),
    [
        ({}, F8, 1.032236656),
        ({"epsilon": 0.1}, F8, 0.985514866),
        ({"epsilon": 0.1, "empty": "survivors"}, F8, 1.126302704),
        ({"epsilon": 0.1, "empty": "batch"}, F8, 0.985514866),
        ({"epsilon": 0.1, "empty": "survivors"}, F8B, 0.781515960),
    ],
)
def test_fixture_values(settings, labels, value):
    assert MultiSimilarityLoss(**settings)(X, labels).item() == pytest.approx(value, abs=1e-9)


def _oracle(labels, *, alpha, beta, base, epsilon, empty, own_positive=False):
    s = loops.cosines(X)
    terms = []
    for i in range(len(labels)):
        near, far = loops.positives(labels, i) + [i] * own_positive, loops.negatives(labels, i)
        if epsilon is not None:
            hardest = max([s[i][n] for n in far], default=-inf)
            weakest = min([s[i][p] for p in near], default=inf)
            near = [p for p in near if s[i][p] - epsilon < hardest]
            far = [n for n in far if s[i][n] + epsilon > weakest]
        pull = log(1 + sum(exp(-alpha * (s[i][p] - base)) for p in near)) / alpha
        push = log(1 + sum(exp(beta * (s[i][n] - base)) for n in far)) / beta
        if empty == "halves" or (near and far):
            terms.append(pull + push)
    return loops.mean(terms) if empty == "survivors" else sum(terms) / len(labels)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1, 0.5])
@pytest.mark.parametrize("empty", ["halves", "survivors", "batch"])
def test_agrees_with_a_loop(labels, epsilon, empty):
    settings = {"alpha": 3.0, "beta": 7.0, "base": 0.4, "epsilon": epsilon, "empty": empty}
    assert MultiSimilarityLoss(**settings)(X, labels).item() == pytest.approx(_oracle(labels, **settings), abs=1e-12)


@pytest.mark.parametrize("labels", loops.LABELS)
def test_the_bug_that_made_an_anchor_its_own_positive(labels):
    settings = {"alpha": 2.0, "beta": 40.0, "base": 0.5, "epsilon": 0.4, "empty": "halves"}
    loss = MultiSimilarityLoss(**settings, self_positive_bug=True)
    assert loss(X, labels).item() == pytest.approx(_oracle(labels, **settings, own_positive=True), abs=1e-12)
    assert "its own positive" in loss.known_bugs()[0]
    assert MultiSimilarityLoss(**settings).known_bugs() == ()


def test_the_bug_on_the_fixture():
    assert MultiSimilarityLoss(epsilon=0.4)(X, F8B).item() == pytest.approx(0.7815, abs=5e-5)
    bug = MultiSimilarityLoss(epsilon=0.4, self_positive_bug=True)
    assert bug(X, F8B).item() == pytest.approx(0.8347, abs=5e-5)


def test_mined_pairs_replace_both_sides_and_count_once():
    s = loops.cosines(X)
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 0, 3], [1, 1, 4], [0, 5], [3, 1])))
    pull = [log(1 + exp(-2 * (s[a][p] - 0.5))) / 2 for a, p in [(0, 1), (3, 4)]]
    push = [log(1 + exp(40 * (s[a][n] - 0.5))) / 40 for a, n in [(0, 3), (5, 1)]]
    assert MultiSimilarityLoss()(X, F8, pairs).item() == pytest.approx((sum(pull) + sum(push)) / 8, abs=1e-12)
    survivor = MultiSimilarityLoss(empty="survivors")
    assert survivor(X, F8, pairs).item() == pytest.approx(pull[0] + push[0], abs=1e-12)


def test_each_half_stays_when_the_other_is_missing():
    loops.check_edges(MultiSimilarityLoss(beta=50.0), no_positives=0.335300744597, one_class=1.872701949682)


@pytest.mark.parametrize("settings", [{"epsilon": 0.2}, {"empty": "survivors"}, {"empty": "batch", "epsilon": 0.1}])
def test_edges(settings):
    loops.check_edges(MultiSimilarityLoss(**settings))


def test_no_mined_pair_is_no_loss():
    nothing = torch.empty(0, dtype=torch.long)
    value, gradient = loops.gradient_of(MultiSimilarityLoss(), X, F8, Triplets(nothing, nothing, nothing))
    assert value == 0
    assert not gradient.any()
