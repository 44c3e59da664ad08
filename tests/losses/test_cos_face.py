from math import exp, log

import pytest
import torch

from fairground.losses import CosFaceLoss, NormalisedSoftmaxLoss
from tests.losses.fixtures import F8, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned


def test_value_by_hand():
    loss = CosFaceLoss(n_classes=2, embedding_dim=2, margin=0.5, scale=2)
    with torch.no_grad():
        loss.weights.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    # The own cosine 1 counts as 0.5: logits 1 and 0.
    assert loss(torch.tensor([[3.0, 0.0]]), torch.tensor([0])).item() == pytest.approx(log(1 + exp(-1)))


def test_fixture_value():
    assert pinned(CosFaceLoss(**FACTS))(X, F8).item() == pytest.approx(43.725083245, abs=1e-9)


def test_agrees_with_a_loop():
    terms = []
    for x, y in zip(X, F8.tolist(), strict=True):
        shares = [exp(5 * (cosine(x, w) - (0.4 if c == y else 0))) for c, w in enumerate(PROXIES)]
        terms.append(-log(shares[y] / sum(shares)))
    loss = pinned(CosFaceLoss(**FACTS, margin=0.4, scale=5))
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms), abs=1e-12)


def test_without_margin_it_is_normalised_softmax():
    softmax = pinned(NormalisedSoftmaxLoss(**FACTS, temperature=1 / 30))
    assert pinned(CosFaceLoss(**FACTS, margin=0, scale=30))(X, F8).item() == pytest.approx(
        softmax(X, F8).item(), abs=1e-13
    )
