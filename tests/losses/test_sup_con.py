from math import exp, log

import pytest
import torch

from fairground.contracts.loss import Pairs
from fairground.losses import SupConLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    value = SupConLoss(temperature=0.5)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(-log(exp(2) / (exp(2) + 2)), abs=1e-6)


@pytest.mark.parametrize(("labels", "value"), [(F8, 7.370273434), (F8B, 5.113895977)])
def test_fixture_values(labels, value):
    assert SupConLoss(temperature=0.1)(X, labels).item() == pytest.approx(value, abs=1e-9)


def _term(s, a, near, others, temperature):
    everyone = sum(exp(s[a][k] / temperature) for k in others)
    return loops.mean([-log(exp(s[a][p] / temperature) / everyone) for p in near])


@pytest.mark.parametrize("labels", loops.LABELS)
def test_agrees_with_a_loop(labels):
    s = loops.cosines(X)
    terms = [
        _term(s, a, loops.positives(labels, a), [k for k in range(8) if k != a], 0.3)
        for a in range(8)
        if loops.positives(labels, a)
    ]
    assert SupConLoss(temperature=0.3)(X, labels).item() == pytest.approx(loops.mean_nonzero(terms), abs=1e-12)


def test_mined_pairs_are_all_an_anchor_sees():
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 0, 3], [1, 2, 4], [0, 5, 3, 3], [3, 1, 0, 7])))
    s = loops.cosines(X)
    terms = [_term(s, 0, [1, 2], [1, 2, 3], 0.3), _term(s, 3, [4], [4, 0, 7], 0.3)]
    assert SupConLoss(temperature=0.3)(X, F8, pairs).item() == pytest.approx(loops.mean(terms), abs=1e-12)


def test_anchors_with_nothing_left_to_learn_do_not_count():
    # At this temperature the two well-placed samples of class 0 have a loss of exactly 0 in float32.
    embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.6, 0.8]])
    labels = torch.tensor([0, 0, 1, 1, 1])
    value = SupConLoss(temperature=1e-3)(embeddings, labels)
    # The third sample is 200 from both its positives; the fourth and fifth 200 from one, 0 from the other, of two.
    assert value.item() == pytest.approx((log(2) + 100 + 100) / 3, rel=1e-5)


def test_edges():
    loops.check_edges(SupConLoss())
