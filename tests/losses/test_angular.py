from math import exp, log, radians, tan

import pytest
import torch

from fairground.contracts.loss import Pairs
from fairground.losses import AngularLoss, NPairLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X

ROTH = {"npair_weight": 1.0, "angular_weight": 2.0, "norm_weight": 0.005, "positives": "one_random"}


def test_value_by_hand():
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    # tan 45 degrees is 1: the exponent is 4 (0 + 0) - 4 * 1, for two negatives.
    value = AngularLoss(alpha=45.0)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(log(1 + 2 * exp(-4)), abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "labels", "value"), [({}, F8, 4.119444486), ({}, F8B, 4.393495529), (ROTH, F8B, 10.658949741)]
)
def test_fixture_values(settings, labels, value):
    assert AngularLoss(**settings)(X, labels).item() == pytest.approx(value, abs=1e-9)


def _term(s, a, p, negatives, alpha):
    t2 = tan(radians(alpha)) ** 2
    return log(1 + sum(exp(4 * t2 * (s[a][n] + s[p][n]) - 2 * (1 + t2) * s[a][p]) for n in negatives))


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("alpha", [30.0, 50.0])
def test_agrees_with_a_loop(labels, alpha):
    s = loops.cosines(X)
    terms = [_term(s, a, p, loops.negatives(labels, a), alpha) for a, p in loops.positive_pairs(labels)]
    assert AngularLoss(alpha=alpha)(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)


def test_both_parts_draw_the_same_random_positives():
    both = AngularLoss(npair_weight=1.0, angular_weight=2.0, positives="one_random")
    angular, npair = AngularLoss(positives="one_random"), NPairLoss(positives="one_random")
    for seed in range(5):
        total, first, second = (
            loss(X, F8, generator=torch.Generator().manual_seed(seed)).item() for loss in (both, angular, npair)
        )
        assert total == pytest.approx(2 * first + second, abs=1e-12)


def test_only_the_raw_part_leaves_the_sphere():
    assert AngularLoss().on_sphere
    assert not AngularLoss(npair_weight=1.0).on_sphere
    assert AngularLoss(npair_weight=1.0, normalise=True).on_sphere


def test_mined_pairs_replace_both_positives_and_negatives():
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 3], [1, 4], [0, 3, 3], [5, 1, 6])))
    s = loops.cosines(X)
    terms = [_term(s, 0, 1, [5], 45.0), _term(s, 3, 4, [1, 6], 45.0)]
    assert AngularLoss()(X, F8, pairs).item() == pytest.approx(loops.mean(terms), abs=1e-12)


@pytest.mark.parametrize("settings", [{}, {"npair_weight": 1.0}, {"positives": "one_random"}, {"alpha": 80.0}])
def test_edges(settings):
    loops.check_edges(AngularLoss(**settings))
