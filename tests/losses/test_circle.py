from math import exp, log

import pytest
import torch
from torch.nn.functional import normalize

from fairground.contracts.loss import Pairs
from fairground.losses import CircleLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    value = CircleLoss(margin=0.2, gamma=5.0)(embeddings, torch.tensor([0, 0, 1, 1]))
    # Positive: rate 0.2, 0.2 beyond its border; negatives: rate 0.2, 0.2 short of theirs.
    assert value.item() == pytest.approx(log(1 + exp(-5 * 0.2 * 0.2) * 2 * exp(-5 * 0.2 * 0.2)), abs=1e-6)


def test_fixture_value():
    assert CircleLoss()(X, F8).item() == pytest.approx(145.617179240, abs=1e-9)


def _term(s, a, near, far, margin, gamma):
    pull = sum(exp(-gamma * max(0, 1 + margin - s[a][p]) * (s[a][p] - 1 + margin)) for p in near)
    push = sum(exp(gamma * max(0, s[a][n] + margin) * (s[a][n] - margin)) for n in far)
    return log(1 + pull * push)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("margin", [0.4, -0.5])
def test_agrees_with_a_loop(labels, margin):
    s = loops.cosines(X)
    terms = [_term(s, a, loops.positives(labels, a), loops.negatives(labels, a), margin, 9.0) for a in range(8)]
    loss = CircleLoss(margin=margin, gamma=9.0)
    assert loss(X, labels).item() == pytest.approx(loops.mean_nonzero(terms), abs=1e-12)


@pytest.mark.parametrize("labels", [F8, F8B])
def test_the_rates_are_constants_to_the_gradient(labels):
    leaf = X.clone().requires_grad_()
    unit = normalize(leaf)
    s = unit @ unit.T
    terms = []
    for a in range(8):
        near, far = loops.positives(labels, a), loops.negatives(labels, a)
        if near:
            pull = -9 * (1.4 - s[a, near]).clamp_min(0).detach() * (s[a, near] - 0.6)
            push = 9 * (s[a, far] + 0.4).clamp_min(0).detach() * (s[a, far] - 0.4)
            terms.append(torch.log1p((pull.logsumexp(0) + push.logsumexp(0)).exp()))
    torch.stack(terms).mean().backward()
    _, gradient = loops.gradient_of(CircleLoss(margin=0.4, gamma=9.0), X, labels)
    torch.testing.assert_close(gradient, leaf.grad)


def test_mined_pairs_replace_both_sides():
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 0, 3], [1, 2, 4], [0, 5, 0], [3, 1, 7])))
    expected = _term(loops.cosines(X), 0, [1, 2], [3, 7], 0.4, 9.0)
    assert CircleLoss(gamma=9.0)(X, F8, pairs).item() == pytest.approx(expected, abs=1e-12)


def test_edges():
    loops.check_edges(CircleLoss())
    loops.check_edges(CircleLoss(gamma=512.0))
