from math import exp, log

import pytest
import torch

from fairground.losses import ProxyAnchorLoss
from tests.losses.fixtures import F8, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned


def test_value_by_hand():
    loss = ProxyAnchorLoss(n_classes=2, embedding_dim=2, alpha=2, margin=0.5)
    with torch.no_grad():
        loss.proxies.copy_(torch.eye(2))
    # One sample, on proxy 0: drawn by 0 with cosine 1, pushed by 1 with cosine 0; only class 0 is present.
    pull = log(1 + exp(-2 * (1 - 0.5)))
    push = log(1 + exp(2 * (0 + 0.5))) / 2
    assert loss(torch.tensor([[3.0, 0.0]]), torch.tensor([0])).item() == pytest.approx(pull + push, abs=1e-6)


def test_fixture_value():
    assert pinned(ProxyAnchorLoss(**FACTS))(X, F8).item() == pytest.approx(33.389208482, abs=1e-9)


@pytest.mark.parametrize("labels", [F8, torch.tensor([0, 0, 2, 2, 2, 0, 0, 2]), torch.ones(8, dtype=torch.long)])
def test_agrees_with_a_loop(labels):
    pull, push = [], []
    for c, p in enumerate(PROXIES):
        own = [exp(-3 * (cosine(x, p) - 0.2)) for x, y in zip(X, labels.tolist(), strict=True) if y == c]
        others = [exp(3 * (cosine(x, p) + 0.2)) for x, y in zip(X, labels.tolist(), strict=True) if y != c]
        pull += [log(1 + sum(own))] if own else []
        push.append(log(1 + sum(others)))
    loss = pinned(ProxyAnchorLoss(**FACTS, alpha=3, margin=0.2))
    assert loss(X, labels).item() == pytest.approx(sum(pull) / len(pull) + sum(push) / 4, abs=1e-12)


def test_a_large_alpha_does_not_overflow():
    loss = pinned(ProxyAnchorLoss(**FACTS, alpha=1000)).float()
    leaf = X.float().requires_grad_()
    value = loss(leaf, F8)
    value.backward()
    assert value.isfinite()
    assert leaf.grad.isfinite().all()
