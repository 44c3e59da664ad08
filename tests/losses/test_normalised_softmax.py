from math import exp, log

import pytest
import torch

from fairground.losses import NormalisedSoftmaxLoss
from tests.losses.fixtures import F8, F8B, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned


def test_value_by_hand():
    loss = NormalisedSoftmaxLoss(n_classes=2, embedding_dim=2, temperature=0.5)
    with torch.no_grad():
        loss.weights.copy_(torch.tensor([[3.0, 0.0], [0.0, 0.1]]))
    # Length does not matter: the cosines of (2, 0) are 1 and 0, the logits 2 and 0.
    assert loss(torch.tensor([[2.0, 0.0]]), torch.tensor([0])).item() == pytest.approx(log(1 + exp(-2)))
    assert loss(torch.tensor([[2.0, 0.0]]), torch.tensor([1])).item() == pytest.approx(log(1 + exp(2)))


@pytest.mark.parametrize(("labels", "value"), [(F8, 8.485603170), (F8B, 7.111872394)])
def test_fixture_value(labels, value):
    assert pinned(NormalisedSoftmaxLoss(**FACTS))(X, labels).item() == pytest.approx(value, abs=1e-9)


def test_agrees_with_a_loop():
    loss = pinned(NormalisedSoftmaxLoss(**FACTS, temperature=0.3))
    terms = []
    for x, y in zip(X, F8.tolist(), strict=True):
        shares = [exp(cosine(x, w) / 0.3) for w in PROXIES]
        terms.append(-log(shares[y] / sum(shares)))
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms), abs=1e-12)


def test_a_low_temperature_keeps_its_gradient_in_single_precision():
    loss = pinned(NormalisedSoftmaxLoss(**FACTS, temperature=1e-4)).float()
    leaf = X.float().requires_grad_()
    value = loss(leaf, F8)
    value.backward()
    assert value.item() == pytest.approx(
        pinned(NormalisedSoftmaxLoss(**FACTS, temperature=1e-4))(X, F8).item(), rel=1e-5
    )
    assert leaf.grad.isfinite().all()
    assert leaf.grad.abs().sum() > 0


def test_one_class_leaves_nothing_to_learn():
    loss = NormalisedSoftmaxLoss(n_classes=1, embedding_dim=4)
    leaf = X.float().requires_grad_()
    value = loss(leaf, torch.zeros(8, dtype=torch.long))
    value.backward()
    assert value.item() == 0
    assert leaf.grad.abs().max() == 0
