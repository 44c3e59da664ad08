from math import acos, cos, exp, floor, log, pi

import pytest
import torch

from fairground.losses import NormalisedSoftmaxLoss, SphereFaceLoss
from tests.losses.fixtures import F8, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned


def test_value_by_hand():
    loss = SphereFaceLoss(n_classes=2, embedding_dim=2, margin=2, cosine_weight=0).double()
    with torch.no_grad():
        loss.weights.copy_(torch.eye(2))
    # Length 2, 45 degrees from both classes: the own angle counts twice, cos 90 = 0; the other logit is 2 cos 45.
    value = loss(torch.tensor([[2.0**0.5, 2.0**0.5]], dtype=torch.float64), torch.tensor([0]))
    assert value.item() == pytest.approx(log(1 + exp(2**0.5)), abs=1e-12)


def test_fixture_value():
    assert pinned(SphereFaceLoss(**FACTS, margin=4, cosine_weight=0))(X, F8).item() == pytest.approx(
        4.185675311, abs=1e-9
    )


@pytest.mark.parametrize("cosine_weight", [0, 0.5, 5])
@pytest.mark.parametrize("margin", [1, 2, 3, 4])
def test_agrees_with_a_loop(margin, cosine_weight):
    terms = []
    for x, y in zip(X, F8.tolist(), strict=True):
        length = sum(v * v for v in x.tolist()) ** 0.5
        logits = [0.7 * length * cosine(x, w) for w in PROXIES]
        theta = acos(cosine(x, PROXIES[y]))
        k = floor(margin * theta / pi)
        psi = (-1) ** k * cos(margin * theta) - 2 * k
        logits[y] = 0.7 * length * (cosine_weight * cos(theta) + psi) / (cosine_weight + 1)
        terms.append(log(sum(exp(logit) for logit in logits)) - logits[y])
    loss = pinned(SphereFaceLoss(**FACTS, margin=margin, scale=0.7, cosine_weight=cosine_weight))
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms), abs=1e-12)


def test_margin_one_on_unit_vectors_is_normalised_softmax():
    unit = X / X.norm(dim=1, keepdim=True)
    softmax = pinned(NormalisedSoftmaxLoss(**FACTS, temperature=1 / 5))
    loss = pinned(SphereFaceLoss(**FACTS, margin=1, scale=5))
    assert loss(unit, F8).item() == pytest.approx(softmax(unit, F8).item(), abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_finite_gradient_on_and_opposite_the_own_class_and_at_the_origin(sign):
    loss = pinned(SphereFaceLoss(**FACTS))
    leaf = (PROXIES[F8] * sign).requires_grad_()
    loss(leaf, F8).backward()
    assert leaf.grad.isfinite().all()
