from math import exp, log, sqrt

import pytest
import torch

from fairground.losses import NormalisedSoftmaxLoss, SoftTripleLoss
from tests.losses.fixtures import CENTRES, F8, F8B, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned

ROTH = {"n_centres": 2, "scale": 8, "gamma": 0.1, "margin": 0.01, "reg_weight": 0.2}


def test_value_by_hand():
    loss = SoftTripleLoss(n_classes=2, embedding_dim=2, n_centres=2, scale=1, gamma=1, margin=0, reg_weight=3)
    with torch.no_grad():
        loss.centres.copy_(torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [0.0, -1.0]]]))
    # Class 0 has cosines 1 and 0, weighted e : 1; class 1 has two coinciding centres at cosine 0.
    own = exp(1) / (exp(1) + 1)
    spread = (sqrt(2) + 0) / (2 * 2 * 1)
    value = loss(torch.tensor([[4.0, 0.0]]), torch.tensor([0]))
    assert value.item() == pytest.approx(log(1 + exp(-own)) + 3 * spread, abs=1e-5)


@pytest.mark.parametrize(
    ("labels", "settings", "value"),
    [
        (F8, {}, 3.000034243),
        (F8, {"reg_weight": 0}, 2.879254423),
        (F8, {"reg_divisor": "pairs"}, 2.879254423 + 0.2 * 1.207798202),
        (F8B, {}, 3.701021735),
        (F8B, {"reg_weight": 0}, 3.580241915),
        (F8B, {"roth_code": True}, 1.958234604),
    ],
)
def test_fixture_value(labels, settings, value):
    assert pinned(SoftTripleLoss(**FACTS, **{**ROTH, **settings}))(X, labels).item() == pytest.approx(value, abs=1e-9)


def test_agrees_with_a_loop():
    terms = []
    for x, y in zip(X, F8.tolist(), strict=True):
        logits = []
        for c, centres in enumerate(CENTRES):
            near = [cosine(x, w) for w in centres]
            shares = [exp(s / 0.3) for s in near]
            soft = sum(share * s for share, s in zip(shares, near, strict=True)) / sum(shares)
            logits.append(5 * (soft - (0.2 if c == y else 0)))
        terms.append(log(sum(exp(logit) for logit in logits)) - logits[y])
    spread = sum(sqrt(2 - 2 * cosine(*centres)) for centres in CENTRES) / (4 * 2 * 1)
    loss = pinned(SoftTripleLoss(**FACTS, n_centres=2, scale=5, gamma=0.3, margin=0.2, reg_weight=0.7))
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms) + 0.7 * spread, abs=1e-12)


def test_one_centre_without_margin_is_normalised_softmax():
    loss = SoftTripleLoss(**FACTS, n_centres=1, scale=20, margin=0, reg_weight=0.2).double()
    with torch.no_grad():
        loss.centres.copy_(PROXIES.unsqueeze(1))
    softmax = pinned(NormalisedSoftmaxLoss(**FACTS, temperature=1 / 20))
    assert loss(X, F8).item() == pytest.approx(softmax(X, F8).item(), abs=1e-13)
    loss(X, F8).backward()
    assert loss.centres.grad.isfinite().all()


def test_coinciding_centres_have_a_finite_gradient():
    loss = SoftTripleLoss(**FACTS, n_centres=3)
    with torch.no_grad():
        loss.centres.copy_(PROXIES.unsqueeze(1).expand(4, 3, 4))
    loss(X.float(), F8).backward()
    assert loss.centres.grad.isfinite().all()


def test_a_small_gamma_chooses_the_nearest_centre_without_overflow():
    loss = pinned(SoftTripleLoss(**FACTS, **{**ROTH, "gamma": 1e-6, "margin": 0, "reg_weight": 0})).float()
    logits = torch.tensor([[8 * max(cosine(x, w) for w in centres) for centres in CENTRES] for x in X])
    assert loss(X.float(), F8).item() == pytest.approx(torch.nn.functional.cross_entropy(logits, F8).item(), rel=1e-5)


def test_says_that_the_released_code_is_wrong():
    assert "E30" in SoftTripleLoss(**FACTS, roth_code=True).known_bugs()[0]
    assert SoftTripleLoss(**FACTS).known_bugs() == ()
