from math import exp, sqrt

import pytest
import torch
from torch.nn.functional import normalize

from fairground.losses import RankedListLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    # A square: neighbours at sqrt(2), opposite corners at 2. Positives are neighbours, so is one negative of each.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    value = RankedListLoss(alpha=1.5, margin=0.5)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx((sqrt(2) - 1) / 2 + (1.5 - sqrt(2)) / 2, abs=1e-6)


def _weighted(violations, temperature):
    kept = [v for v in violations if v > 0]
    total = sum(exp(temperature * v) for v in kept)
    return sum(exp(temperature * v) * v for v in kept) / total if kept else 0.0


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("temperatures", [(0.0, 10.0), (3.0, 0.0)])
def test_agrees_with_a_loop(labels, temperatures):
    near, far = temperatures
    d = loops.distances(X)
    terms = [
        0.7 * _weighted([d[i][p] - 0.9 for p in loops.positives(labels, i)], near)
        + 0.3 * _weighted([1.3 - d[i][n] for n in loops.negatives(labels, i)], far)
        for i in range(8)
    ]
    loss = RankedListLoss(
        alpha=1.3, margin=0.4, negative_weight=0.3, positive_temperature=near, negative_temperature=far
    )
    assert loss(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)


@pytest.mark.parametrize("labels", [F8, F8B])
def test_the_weights_are_constants_to_the_gradient(labels):
    leaf = X.clone().requires_grad_()
    unit = normalize(leaf)
    terms = []
    for i in range(8):
        for others, sign, border, temperature in [
            (loops.positives(labels, i), 1, 0.8, 2.0),
            (loops.negatives(labels, i), -1, 1.2, 10.0),
        ]:
            violation = torch.stack([sign * ((unit[i] - unit[j]).norm() - border) for j in others] or [leaf.sum() * 0])
            violation = violation[violation > 0]
            weight = (temperature * violation).exp().detach()
            terms.append((weight * violation).sum() / weight.sum().clamp_min(1e-9) / 16)
    torch.stack(terms).sum().backward()
    _, gradient = loops.gradient_of(RankedListLoss(positive_temperature=2.0), X, labels)
    torch.testing.assert_close(gradient, leaf.grad)


def test_each_part_stays_when_the_other_is_missing():
    d = loops.distances(X)
    far = loops.mean([_weighted([1.2 - d[i][j] for j in range(8) if j != i], 10.0) for i in range(8)])
    near = loops.mean([_weighted([d[i][j] - 0.8 for j in range(8) if j != i], 0.0) for i in range(8)])
    loops.check_edges(RankedListLoss(), no_positives=far / 2, one_class=near / 2)
