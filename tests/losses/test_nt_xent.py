from math import exp, log

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.losses import NtXentLoss, SupConLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    # Two classes of two on the axes of a plane: a positive has cosine 1, both negatives have 0.
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    value = NtXentLoss(temperature=0.5)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(log(1 + 2 * exp(-1 / 0.5)), abs=1e-6)


@pytest.mark.parametrize(("labels", "value"), [(F8, 8.217651976), (F8B, 5.113895977)])
def test_fixture_values(labels, value):
    assert NtXentLoss(temperature=0.1)(X, labels).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("labels", loops.LABELS)
def test_agrees_with_a_loop(labels):
    s = loops.cosines(X)
    terms = [
        -log(exp(s[a][p] / 0.3) / (exp(s[a][p] / 0.3) + sum(exp(s[a][n] / 0.3) for n in loops.negatives(labels, a))))
        for a, p in loops.positive_pairs(labels)
    ]
    assert NtXentLoss(temperature=0.3)(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)


def test_one_positive_each_makes_it_the_supervised_contrastive_loss():
    ours, theirs = (loops.gradient_of(kind(temperature=0.1), X, F8B) for kind in (NtXentLoss, SupConLoss))
    assert ours[0] == pytest.approx(theirs[0], abs=1e-12)
    torch.testing.assert_close(ours[1], theirs[1])


def test_edges():
    loops.check_edges(NtXentLoss())


def test_a_repeated_pair_counts_twice():
    once = Pairs(*(torch.tensor(index) for index in ([0, 3], [1, 4], [0, 0, 3], [3, 5, 6])))
    repeated = Triplets(*(torch.tensor(index) for index in ([0, 0, 3], [1, 1, 4], [3, 5, 6])))
    s = loops.cosines(X)
    first = log(1 + (exp(s[0][3]) + exp(s[0][5])) / exp(s[0][1]))
    second = log(1 + exp(s[3][6]) / exp(s[3][4]))
    loss = NtXentLoss(temperature=1.0)
    assert loss(X, F8, once).item() == pytest.approx((first + second) / 2, abs=1e-12)
    assert loss(X, F8, repeated).item() == pytest.approx((2 * first + second) / 3, abs=1e-12)


def test_an_anchor_without_mined_negatives_is_certain_of_its_positive():
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 3], [1, 4], [0], [3])))
    s = loops.cosines(X)
    term = log(1 + exp(s[0][3] - s[0][1]))
    assert NtXentLoss(temperature=1.0)(X, F8, pairs).item() == pytest.approx(term / 2, abs=1e-12)


def test_the_floor_saturates_as_in_the_code_of_the_reality_check():
    loss = NtXentLoss(temperature=0.0002, log_floor=1e-20)
    value, gradient = loops.gradient_of(loss, X.float(), F8B)
    assert value == pytest.approx(46.0517, abs=1e-4)
    assert not gradient.any()
    exact, gradient = loops.gradient_of(NtXentLoss(temperature=0.0002), X.float(), F8B)
    assert exact > 1000
    assert gradient.norm() > 100
    assert "log_floor = 1e-20" in loss.known_bugs()[0]
    assert NtXentLoss().known_bugs() == ()
