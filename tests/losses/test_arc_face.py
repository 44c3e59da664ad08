from math import acos, cos, exp, log, pi, sin

import pytest
import torch

from fairground.losses import ArcFaceLoss, NormalisedSoftmaxLoss
from tests.losses.fixtures import F8, F8B, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned


def _on_axes(**settings):
    loss = ArcFaceLoss(n_classes=2, embedding_dim=2, **settings).double()
    with torch.no_grad():
        loss.weights.copy_(torch.eye(2))
    return loss


def _at(degrees):
    angle = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    return torch.stack([angle.cos(), angle.sin()]).unsqueeze(0)


def test_value_by_hand():
    # 30 degrees from class 0 with a margin of 30: its cosine counts as cos 60 = 1/2; that to class 1 is cos 60 too.
    loss = _on_axes(margin=30, margin_unit="degrees", scale=10)
    assert loss(_at(30.0), torch.tensor([0])).item() == pytest.approx(log(2), abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "settings", "value"),
    [
        (F8, {"margin": 28.6, "margin_unit": "degrees", "scale": 64}, 48.753212347),
        (F8, {"margin": 0.5, "scale": 16}, 12.231644689),
        (F8, {"margin": 0.5, "scale": 16, "fallback": False}, 12.231644689),
        (F8B, {"margin": 0.5, "scale": 16}, 8.870034277),
        (F8B, {"margin": 0.5, "scale": 16, "fallback": False, "clamp_min": 1e-10}, 7.775176908),
        (F8B, {"margin": 0.5, "scale": 16, "roth_icml_no_margin": True}, 3.920310380),
    ],
)
def test_fixture_value(labels, settings, value):
    assert pinned(ArcFaceLoss(**FACTS, **settings))(X, labels).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("fallback", [True, False])
def test_agrees_with_a_loop(fallback):
    margin, scale = 1.4, 3
    n_past = 0
    terms = []
    for x, y in zip(X, F8.tolist(), strict=True):
        logits = [scale * cosine(x, w) for w in PROXIES]
        theta = acos(cosine(x, PROXIES[y]))
        logits[y] = scale * cos(theta + margin)
        if fallback and theta > pi - margin:
            n_past += 1
            logits[y] = scale * (cos(theta) - margin * sin(margin))
        terms.append(log(sum(exp(logit) for logit in logits)) - logits[y])
    assert n_past == (1 if fallback else 0)
    loss = pinned(ArcFaceLoss(**FACTS, margin=margin, scale=scale, fallback=fallback))
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms), abs=1e-12)


def test_the_fallback_keeps_the_loss_growing_with_the_angle():
    # Turning from class 0 at a right angle to class 1: past pi - 0.5, or 151 degrees, the plain cosine turns and
    # rewards standing opposite to the own class.
    angles = torch.tensor([140.0, 155.0, 175.0], dtype=torch.float64).deg2rad()
    values = {}
    for fallback in (True, False):
        loss = ArcFaceLoss(n_classes=2, embedding_dim=3, margin=0.5, scale=4, fallback=fallback).double()
        with torch.no_grad():
            loss.weights.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
        turned = torch.stack([angles.cos(), angles.sin(), 0 * angles], dim=1)
        values[fallback] = [loss(row.unsqueeze(0), torch.tensor([0])).item() for row in turned]
    assert values[True] == sorted(values[True])
    assert values[False][1] > values[False][2]


def test_without_margin_it_is_normalised_softmax():
    softmax = pinned(NormalisedSoftmaxLoss(**FACTS, temperature=1 / 16))
    assert pinned(ArcFaceLoss(**FACTS, margin=0, scale=16))(X, F8).item() == pytest.approx(
        softmax(X, F8).item(), abs=1e-12
    )


def test_the_published_code_has_no_margin():
    with_margin, without = (pinned(ArcFaceLoss(**FACTS, margin=m, roth_icml_no_margin=True)) for m in (0.5, 0.0))
    assert with_margin(X, F8).item() == without(X, F8).item()
    assert "E11" in with_margin.known_bugs()[0]
    assert "below 1e-10" in with_margin.known_bugs()[1]
    assert ArcFaceLoss(**FACTS).known_bugs() == ()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_finite_gradient_on_and_opposite_the_own_class(sign, dtype):
    loss = pinned(ArcFaceLoss(**FACTS)).to(dtype)
    leaf = (PROXIES[F8] * sign).to(dtype).requires_grad_()
    loss(leaf, F8).backward()
    assert leaf.grad.isfinite().all()
    assert loss.weights.grad.isfinite().all()
