from math import sqrt

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.losses import ContrastiveLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, T8B, X


def test_value_by_hand():
    # Right angles on the circle: neighbours are sqrt(2) apart, opposites 2.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]])
    value = ContrastiveLoss(positive_margin=1, negative_margin=1.8)(embeddings, torch.tensor([4, 4, 9]))
    # One positive pair in both orders; of the negative pairs only the neighbours are nearer than 1.8.
    assert value.item() == pytest.approx((sqrt(2) - 1) + (1.8 - sqrt(2)), abs=1e-6)
    every = ContrastiveLoss(positive_margin=1, negative_margin=1.8, reduction="mean_all")
    value = every(embeddings, torch.tensor([4, 4, 9]))
    assert value.item() == pytest.approx((sqrt(2) - 1) + (1.8 - sqrt(2)) / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "labels", "value"),
    [
        ({}, F8, 1.700367437),
        ({"positive_margin": 0.2652, "negative_margin": 0.5409}, F8, 1.246648966),
        ({}, F8B, 1.503586794),
    ],
)
def test_fixture_values(settings, labels, value):
    assert ContrastiveLoss(**settings)(X, labels).item() == pytest.approx(value, abs=1e-9)


def test_fixture_value_on_mined_triplets():
    loss = ContrastiveLoss(reduction="mean_all")
    assert loss(X, F8B, T8B).item() == pytest.approx(1.157360915, abs=1e-9)


@pytest.mark.parametrize("reduction", ["mean_nz", "mean_all"])
@pytest.mark.parametrize("labels", loops.LABELS)
def test_agrees_with_a_loop(labels, reduction):
    d = loops.distances(X)
    near = [max(0.0, d[a][p] - 0.9) for a, p in loops.positive_pairs(labels)]
    far = [max(0.0, 1.3 - d[a][n]) for a in range(8) for n in loops.negatives(labels, a)]
    mean = loops.mean_nonzero if reduction == "mean_nz" else loops.mean
    loss = ContrastiveLoss(positive_margin=0.9, negative_margin=1.3, reduction=reduction)
    assert loss(X, labels).item() == pytest.approx(mean(near) + mean(far), abs=1e-12)


@pytest.mark.parametrize("reduction", ["mean_nz", "mean_all"])
def test_pairs_chosen_twice_count_twice(reduction):
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 3, 3], [1, 4, 4], [0, 1], [3, 5])))
    d = loops.distances(X)
    near = [max(0.0, d[a][p] - 0.5) for a, p in ((0, 1), (3, 4), (3, 4))]
    far = [max(0.0, 1.0 - d[a][n]) for a, n in ((0, 3), (1, 5))]
    mean = loops.mean_nonzero if reduction == "mean_nz" else loops.mean
    loss = ContrastiveLoss(positive_margin=0.5, reduction=reduction)
    assert loss(X, F8, pairs).item() == pytest.approx(mean(near) + mean(far), abs=1e-12)


def test_a_negative_positive_margin_adds_a_constant():
    plain = loops.gradient_of(ContrastiveLoss(negative_margin=0.3841), X, F8)
    shifted = loops.gradient_of(ContrastiveLoss(positive_margin=-0.2, negative_margin=0.3841), X, F8)
    assert shifted[0] == pytest.approx(plain[0] + 0.2, abs=1e-12)
    torch.testing.assert_close(shifted[1], plain[1])


def test_a_switched_triplet_attracts_nothing():
    # Anchor as its own positive and a classmate as the negative: only the push is left.
    switched = Triplets(torch.tensor([0]), torch.tensor([0]), torch.tensor([1]))
    value, gradient = loops.gradient_of(ContrastiveLoss(), X, F8, switched)
    assert value == pytest.approx(1 - loops.distances(X)[0][1], abs=1e-12)
    assert gradient[:2].norm(dim=1).gt(0).all()
    assert not gradient[2:].any()


def test_edges():
    d = [value for a, row in enumerate(loops.distances(X)) for b, value in enumerate(row) if a != b]
    of_negatives, of_positives = loops.mean([1 - value for value in d if value < 1]), loops.mean(d)
    assert (of_negatives, of_positives) == pytest.approx((0.3097, 1.3782), abs=1e-4)
    loops.check_edges(ContrastiveLoss(), no_positives=of_negatives, one_class=of_positives)
