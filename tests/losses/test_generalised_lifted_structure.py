from math import exp, log, sqrt

import pytest
import torch

from fairground.contracts.loss import Pairs
from fairground.losses import GeneralisedLiftedStructureLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    # On a line at 0, 1, 3, 4: each anchor has its positive at distance 1, its negatives at 3, 4 or 2, 3.
    embeddings, labels = torch.tensor([[0.0], [1.0], [3.0], [4.0]]), torch.tensor([0, 0, 1, 1])
    outer, inner = 1 + log(exp(2 - 3) + exp(2 - 4)), 1 + log(exp(2 - 2) + exp(2 - 3))
    value = GeneralisedLiftedStructureLoss(margin=2.0)(embeddings, labels)
    assert value.item() == pytest.approx((outer + inner) / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "labels", "value"),
    [
        ({"normalise": True}, F8, 3.118791483),
        ({}, F8, 3.303738176),
        ({}, F8B, 2.712005869),
        ({"norm_weight": 0.005}, F8B, 2.719382885),
    ],
)
def test_fixture_values(settings, labels, value):
    assert GeneralisedLiftedStructureLoss(**settings)(X, labels).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("margin", [1.0, -2.2])
def test_agrees_with_a_loop(labels, normalise, margin):
    d = loops.distances(X, on_sphere=normalise)
    terms = []
    for a in range(8):
        if loops.positives(labels, a):
            pull = log(sum(exp(d[a][p]) for p in loops.positives(labels, a)))
            push = log(sum(exp(margin - d[a][n]) for n in loops.negatives(labels, a)))
            terms.append(max(0, pull + push))
    assert any(term == 0 for term in terms) == (margin < 0)
    settings = {"margin": margin, "normalise": normalise}
    loss, summed = (GeneralisedLiftedStructureLoss(**settings, reduction=r) for r in ("mean_anchor", "sum"))
    assert loss(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)
    assert summed(X, labels).item() == pytest.approx(sum(terms), abs=1e-12)
    assert loss.on_sphere == normalise


@pytest.mark.parametrize("power", [1, 2])
def test_the_price_of_length(power):
    lengths = [sqrt(sum(a * a for a in row)) ** power for row in X.tolist()]
    priced = GeneralisedLiftedStructureLoss(norm_weight=0.3, norm_power=power)
    difference = priced(X, F8) - GeneralisedLiftedStructureLoss()(X, F8)
    assert difference.item() == pytest.approx(0.3 * sum(lengths) / 8, abs=1e-12)


def test_mined_pairs_count_once_and_anchors_lacking_a_side_do_not_count():
    # Anchor 0 has both, its pair twice; 3 has no negative, 5 no positive.
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 0, 3], [1, 1, 4], [0, 5], [3, 1])))
    d = loops.distances(X, on_sphere=False)
    assert GeneralisedLiftedStructureLoss(margin=2.0)(X, F8, pairs).item() == pytest.approx(
        d[0][1] + 2 - d[0][3], abs=1e-12
    )


def test_no_anchor_with_both_sides_is_no_loss():
    pairs = Pairs(*(torch.tensor(index) for index in ([3], [4], [5], [1])))
    value, gradient = loops.gradient_of(GeneralisedLiftedStructureLoss(), X, F8, pairs)
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("normalise", [False, True])
def test_edges(normalise):
    loops.check_edges(GeneralisedLiftedStructureLoss(normalise=normalise))
