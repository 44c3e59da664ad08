from math import exp, log

import pytest
import torch

from fairground.losses import CentreLoss
from tests.losses.fixtures import F8, PROXIES, X
from tests.losses.pinned import FACTS


def _pinned(**settings):
    loss = CentreLoss(**FACTS, **settings).double()
    with torch.no_grad():
        loss.weights.copy_(PROXIES)
        loss.centres.copy_(PROXIES.flip(0))
        loss.biases.copy_(torch.tensor([0.1, -0.2, 0.3, 0.0]))
    return loss


def test_value_by_hand():
    loss = CentreLoss(n_classes=2, embedding_dim=2, weight=0.5)
    with torch.no_grad():
        loss.weights.copy_(torch.eye(2))
        loss.centres.copy_(torch.tensor([[0.0, 2.0], [9.0, 9.0]]))
    # Logits 3 and 0; the centre of class 0 lies at a squared distance of 9 + 4.
    value = loss(torch.tensor([[3.0, 0.0]]), torch.tensor([0]))
    assert value.item() == pytest.approx(log(1 + exp(-3)) + 0.5 / 2 * 13, abs=1e-5)


def test_agrees_with_a_loop():
    loss = _pinned(weight=0.2)
    centres, biases = PROXIES.flip(0).tolist(), loss.biases.tolist()
    terms = []
    for x, y in zip(X.tolist(), F8.tolist(), strict=True):
        dots = [sum(a * b for a, b in zip(x, w, strict=True)) for w in PROXIES.tolist()]
        logits = [dot + b for dot, b in zip(dots, biases, strict=True)]
        far = sum((a - c) ** 2 for a, c in zip(x, centres[y], strict=True))
        terms.append(log(sum(exp(logit) for logit in logits)) - logits[y] + 0.1 * far)
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms), abs=1e-12)


def test_centres_move_to_their_samples():
    loss = _pinned(weight=1.0)
    step = torch.optim.SGD([loss.centres], lr=1.0)
    for _ in range(300):
        step.zero_grad()
        loss(X, F8).backward()
        step.step()
    means = torch.stack([X[c == F8].mean(0) for c in range(4)])
    assert torch.allclose(loss.centres, means, atol=1e-6)
