from math import exp, log, sqrt

import pytest
import torch

from fairground.contracts.loss import Pairs
from fairground.losses import NPairLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    labels = torch.tensor([0, 0, 1, 1])
    # Products with the positive are 2 and 3, with all negatives 0.
    first, second = log(1 + 2 * exp(-2)), log(1 + 2 * exp(-3))
    assert NPairLoss()(embeddings, labels).item() == pytest.approx((first + second) / 2, abs=1e-6)
    # One pair a class: the other class' positive is the only negative.
    first, second = log(1 + exp(-2)), log(1 + exp(-3))
    loss = NPairLoss(positives="one_per_class")
    assert loss(embeddings, labels).item() == pytest.approx((first + second) / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "labels", "value"),
    [
        ({"positives": "one_per_class", "normalise": True}, F8, 0.940585562),
        ({"positives": "one_per_class"}, F8, 0.850082457),
        ({}, F8, 2.546152745),
        ({"normalise": True}, F8, 1.958860322),
        ({}, F8B, 1.864581668),
        ({"positives": "one_random", "norm_weight": 0.005}, F8B, 1.871958683),
    ],
)
def test_fixture_values(settings, labels, value):
    assert NPairLoss(**settings)(X, labels).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("normalise", [False, True])
def test_agrees_with_a_loop(labels, normalise):
    dot = loops.cosines(X) if normalise else loops.products(X)
    terms = [
        log(1 + sum(exp(dot[a][n] - dot[a][p]) for n in loops.negatives(labels, a)))
        for a, p in loops.positive_pairs(labels)
    ]
    loss = NPairLoss(normalise=normalise)
    assert loss(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)
    assert loss.on_sphere == normalise


@pytest.mark.parametrize("labels", loops.LABELS)
def test_one_pair_per_class_agrees_with_a_loop(labels):
    dot = loops.products(X)
    chosen = [members[:2] for y in sorted(set(labels.tolist())) if len(members := _members(labels, y)) > 1]
    terms = [log(sum(exp(dot[a][q] - dot[a][p]) for _, q in chosen)) for a, p in chosen]
    loss = NPairLoss(positives="one_per_class")
    assert loss(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)


def _members(labels, y):
    return [i for i, label in enumerate(labels.tolist()) if label == y]


def test_one_random_positive_for_each_anchor():
    loss = NPairLoss(positives="one_random")
    dot = loops.products(X)
    term = {
        (a, p): log(1 + sum(exp(dot[a][n] - dot[a][p]) for n in loops.negatives(F8, a)))
        for a, p in loops.positive_pairs(F8)
    }
    # Three anchors choose between two positives, four have one: eight equally likely values.
    fixed = sum(term[pair] for pair in [(3, 4), (4, 3), (5, 6), (6, 5)])
    possible = {
        round((term[0, p] + term[1, q] + term[2, r] + fixed) / 7, 9) for p in (1, 2) for q in (0, 2) for r in (0, 1)
    }
    generator = torch.Generator().manual_seed(0)
    drawn = [round(loss(X, F8, generator=generator).item(), 9) for _ in range(200)]
    assert set(drawn) == possible
    assert min(drawn.count(value) for value in possible) > 10
    first = loss(X, F8, generator=torch.Generator().manual_seed(3)).item()
    assert loss(X, F8, generator=torch.Generator().manual_seed(3)).item() == first


@pytest.mark.parametrize("power", [1, 2])
def test_the_price_of_length(power):
    lengths = [sqrt(sum(a * a for a in row)) ** power for row in X.tolist()]
    priced, plain = NPairLoss(norm_weight=0.3, norm_power=power), NPairLoss()
    assert (priced(X, F8) - plain(X, F8)).item() == pytest.approx(0.3 * sum(lengths) / 8, abs=1e-12)
    # It stays when there is no pair, and has no slope at the origin.
    value, gradient = loops.gradient_of(priced, X * (F8 > 0).unsqueeze(1), torch.arange(8))
    assert value == pytest.approx(0.3 * sum(lengths[3:]) / 8, abs=1e-12)
    assert not gradient[:3].any()


def test_mined_pairs_replace_both_positives_and_negatives():
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 3, 0], [1, 4, 2], [0, 3, 3], [5, 1, 6])))
    dot = loops.products(X)
    terms = [
        log(1 + exp(dot[0][5] - dot[0][1])),
        log(1 + exp(dot[3][1] - dot[3][4]) + exp(dot[3][6] - dot[3][4])),
        log(1 + exp(dot[0][5] - dot[0][2])),
    ]
    assert NPairLoss()(X, F8, pairs).item() == pytest.approx(loops.mean(terms), abs=1e-12)
    # One pair a class: the first given of each, (0, 1) and (3, 4).
    terms = [log(1 + exp(dot[0][4] - dot[0][1])), log(1 + exp(dot[3][1] - dot[3][4]))]
    loss = NPairLoss(positives="one_per_class")
    assert loss(X, F8, pairs).item() == pytest.approx(loops.mean(terms), abs=1e-12)


@pytest.mark.parametrize("positives", ["all", "one_random", "one_per_class"])
def test_edges(positives):
    loops.check_edges(NPairLoss(positives=positives))


def test_long_embeddings_do_not_overflow():
    value, gradient = loops.gradient_of(NPairLoss(), 100 * X.float(), F8)
    assert 1000 < value < float("inf")
    assert gradient.isfinite().all()
