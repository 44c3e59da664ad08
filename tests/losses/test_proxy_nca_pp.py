from math import exp, log

import pytest
import torch

from fairground.losses import ProxyNcaLoss, ProxyNcaPpLoss
from tests.losses.fixtures import F8, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned


def test_value_by_hand():
    loss = ProxyNcaPpLoss(n_classes=2, embedding_dim=2, temperature=0.5)
    with torch.no_grad():
        loss.proxies.copy_(torch.eye(2))
    # Squared distances 0 and 2, over a temperature of one half.
    assert loss(torch.tensor([[7.0, 0.0]]), torch.tensor([0])).item() == pytest.approx(log(1 + exp(-4)), abs=1e-6)


def test_fixture_value_is_that_of_inclusive_proxy_nca_at_scale_nine():
    loss = pinned(ProxyNcaPpLoss(**FACTS))
    assert loss(X, F8).item() == pytest.approx(7.646044173, abs=1e-9)
    assert loss(X, F8).item() == pytest.approx(pinned(ProxyNcaLoss(**FACTS, scale=9))(X, F8).item(), abs=1e-13)


def test_agrees_with_a_loop():
    terms = []
    for x, y in zip(X, F8.tolist(), strict=True):
        shares = [exp(-(2 - 2 * cosine(x, p)) / 0.2) for p in PROXIES]
        terms.append(-log(shares[y] / sum(shares)))
    loss = pinned(ProxyNcaPpLoss(**FACTS, temperature=0.2))
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms), abs=1e-12)
