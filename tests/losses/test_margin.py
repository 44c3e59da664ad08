from math import sqrt

import pytest
import torch

from fairground.contracts.loss import Triplets
from fairground.losses import ContrastiveLoss, MarginLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, T8B, X


def test_value_by_hand():
    # Right angles on the circle: the positive is sqrt(2) away, the negatives sqrt(2) and 2.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]])
    value = MarginLoss(margin=0.5, beta=1.2)(embeddings, torch.tensor([4, 4, 9]))
    # Both triplets pay sqrt(2) - 1.2 + 0.5; only the negative at sqrt(2) is nearer than 1.7.
    assert value.item() == pytest.approx((2 * (sqrt(2) - 0.7) + (1.7 - sqrt(2))) / 3, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "labels", "value"),
    [
        ({}, F8, 0.462355507),
        ({"count": "tuples"}, F8, 0.669943694),
        ({"beta": 0.6}, F8, 0.873226256),
        ({}, F8B, 0.325335679),
        ({"count": "tuples"}, F8B, 0.444360928),
        ({"beta": 0.6}, F8B, 0.713531325),
    ],
)
def test_fixture_values(settings, labels, value):
    assert MarginLoss(**settings)(X, labels).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("count", "value"), [("pairs", 0.257409168), ("tuples", 0.343212223)])
def test_fixture_values_on_mined_triplets(count, value):
    assert MarginLoss(count=count)(X, F8B, T8B).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("count", ["pairs", "tuples"])
@pytest.mark.parametrize("labels", loops.LABELS)
def test_agrees_with_a_loop(labels, count):
    d = loops.distances(X)
    terms = [
        (max(0.0, d[a][p] - 0.9 + 0.3), max(0.0, 0.9 - d[a][n] + 0.3))
        for a, p in loops.positive_pairs(labels)
        for n in loops.negatives(labels, a)
    ]
    if count == "pairs":
        n_active = sum((near > 0) + (far > 0) for near, far in terms)
    else:
        n_active = sum(near > 0 or far > 0 for near, far in terms)
    value = sum(near + far for near, far in terms) / n_active
    assert MarginLoss(margin=0.3, beta=0.9, count=count)(X, labels).item() == pytest.approx(value, abs=1e-12)


def _per_class(**settings: object) -> MarginLoss:
    loss = MarginLoss(beta=0.9, beta_kind="per_class", n_classes=4, **settings).double()
    loss.beta.data.copy_(torch.tensor([0.9, 1.1, 0.8, 1.2], dtype=torch.float64))
    return loss


@pytest.mark.parametrize("count", ["pairs", "tuples"])
def test_each_class_of_anchor_has_its_own_border(count):
    d = loops.distances(X)
    beta = [0.9, 1.1, 0.8, 1.2]
    terms = [
        (max(0.0, d[a][p] - beta[F8[a]] + 0.2), max(0.0, beta[F8[a]] - d[a][n] + 0.2))
        for a, p in loops.positive_pairs(F8)
        for n in loops.negatives(F8, a)
    ]
    if count == "pairs":
        n_active = sum((near > 0) + (far > 0) for near, far in terms)
    else:
        n_active = sum(near > 0 or far > 0 for near, far in terms)
    value = sum(near + far for near, far in terms) / n_active
    assert _per_class(count=count)(X, F8).item() == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("settings", [{}, {"count": "tuples"}, {"beta_weight": 0.3}])
@pytest.mark.parametrize("per_class", [False, True])
def test_mining_every_triplet_is_no_mining(settings, per_class):
    triplets = torch.tensor([(a, p, n) for a, p in loops.positive_pairs(F8) for n in loops.negatives(F8, a)])
    results = []
    for tuples in (None, Triplets(*triplets.unbind(1))):
        loss = _per_class(**settings) if per_class else MarginLoss(**settings).double()
        results.append((*loops.gradient_of(loss, X, F8, tuples), loss.beta.grad))
    (value, gradient, of_beta), (mined_value, mined_gradient, mined_of_beta) = results
    assert value == pytest.approx(mined_value, abs=1e-12)
    torch.testing.assert_close(gradient, mined_gradient)
    torch.testing.assert_close(of_beta, mined_of_beta)


def test_the_border_moves_by_active_negatives_minus_active_positives():
    loss = MarginLoss().double()
    loss(X, F8).backward()
    d = loops.distances(X)
    triplets = [(a, p, n) for a, p in loops.positive_pairs(F8) for n in loops.negatives(F8, a)]
    near = sum(d[a][p] > 1.0 for a, p, _ in triplets)
    far = sum(d[a][n] < 1.4 for a, _, n in triplets)
    assert loss.beta.grad.item() == pytest.approx((far - near) / (far + near), abs=1e-12)


def test_its_sum_is_that_of_the_contrastive_loss_with_borders_apart():
    margin = MarginLoss(margin=0.2, beta=1.2)(X, F8B, T8B).item()
    terms = ContrastiveLoss(positive_margin=1.0, negative_margin=1.4, reduction="mean_all")(X, F8B, T8B).item()
    d = loops.distances(X)
    n_active = sum((d[a][p] > 1.0) + (d[a][n] < 1.4) for a, p, n in zip(*(x.tolist() for x in T8B), strict=True))
    assert margin * n_active == pytest.approx(terms * 8, abs=1e-9)


def test_the_weight_of_beta_is_that_of_its_mean_over_triplets():
    plain, priced = MarginLoss(), MarginLoss(beta_weight=0.5)
    assert (priced(X, F8) - plain(X, F8)).item() == pytest.approx(0.6, abs=1e-9)
    assert (priced(X, F8B, T8B) - plain(X, F8B, T8B)).item() == pytest.approx(0.6, abs=1e-9)
    # Class 3 has one sample and anchors nothing; 0, 1 and 2 anchor 30, 12 and 12 triplets.
    of_classes = (30 * 0.9 + 12 * 1.1 + 12 * 0.8) / 54
    difference = _per_class(beta_weight=0.5)(X, F8) - _per_class()(X, F8)
    assert difference.item() == pytest.approx(0.5 * of_classes, abs=1e-9)


def test_beta_is_learned_unless_told_otherwise():
    assert [name for name, value in MarginLoss().named_parameters() if value.requires_grad] == ["beta"]
    fixed = MarginLoss(learn_beta=False)
    fixed(X.clone().requires_grad_(), F8).backward()
    assert fixed.beta.grad is None
    assert fixed.beta.tolist() == pytest.approx([1.2])


def test_a_switched_triplet_attracts_nothing():
    switched = Triplets(torch.tensor([0]), torch.tensor([0]), torch.tensor([1]))
    value, gradient = loops.gradient_of(MarginLoss(), X, F8, switched)
    assert value == pytest.approx(1.4 - loops.distances(X)[0][1], abs=1e-9)
    assert gradient[:2].norm(dim=1).gt(0).all()
    assert not gradient[2:].any()


@pytest.mark.parametrize("settings", [{}, {"count": "tuples", "beta_weight": 0.1}])
def test_edges(settings):
    loops.check_edges(MarginLoss(**settings))


def test_the_divisor_of_roth_is_owned_up_to():
    assert MarginLoss().known_bugs() == ()
    assert "E16" in MarginLoss(count="tuples").known_bugs()[0]
