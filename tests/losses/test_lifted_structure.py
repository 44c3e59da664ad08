from math import exp, inf, log, sqrt

import pytest
import torch

from fairground.contracts.loss import Pairs
from fairground.losses import LiftedStructureLoss
from tests.losses import loops
from tests.losses.fixtures import F8, X


def test_value_by_hand():
    # Positives coincide; each end of a pair has two negatives at the distance of a square's neighbouring corners.
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    violation = log(4 * exp(1 - sqrt(2)))
    value = LiftedStructureLoss(margin=1.0)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(violation**2 / 2, abs=1e-6)


def test_fixture_value():
    assert LiftedStructureLoss()(X, F8).item() == pytest.approx(6.281283710, abs=1e-9)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("margin", [1.0, -2.0])
def test_agrees_with_a_loop(labels, margin):
    d = loops.distances(X)
    terms = []
    for a, p in loops.positive_pairs(labels):
        others = [d[end][n] for end in (a, p) for n in loops.negatives(labels, end)]
        violation = log(sum(exp(margin - distance) for distance in others)) + d[a][p]
        terms.append(max(0, violation) ** 2 / 2)
    assert LiftedStructureLoss(margin=margin)(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)


def test_a_pair_that_is_near_enough_costs_nothing():
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]])
    # J = log(2 e^(0.5 - 2)) + 0
    value, gradient = loops.gradient_of(LiftedStructureLoss(margin=0.5), embeddings, torch.tensor([0, 0, 1]))
    assert value == 0
    assert not gradient.any()


def test_each_end_brings_the_negatives_mined_for_it():
    # (0, 1) has a negative at 0, (3, 4) one at 4, (5, 6) none at either end.
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 3, 5], [1, 4, 6], [0, 4, 4], [3, 0, 0])))
    d = loops.distances(X)
    violations = [1 - d[0][3] + d[0][1], log(2 * exp(1 - d[4][0])) + d[3][4], -inf]
    terms = [max(0, violation) ** 2 / 2 for violation in violations]
    loss = LiftedStructureLoss()
    assert loss(X, F8, pairs).item() == pytest.approx(loops.mean(terms), abs=1e-12)
    loops.check_gradient(loss, pairs)


def test_edges():
    loops.check_edges(LiftedStructureLoss())
