from math import acos, cos, exp, log

import pytest
import torch

from fairground.losses import ArcFaceLoss, SubCentreArcFaceLoss
from tests.losses.fixtures import CENTRES, F8, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned


def test_value_by_hand():
    loss = SubCentreArcFaceLoss(n_classes=2, embedding_dim=2, n_centres=2, margin=0, scale=3)
    with torch.no_grad():
        loss.weights.copy_(torch.tensor([[[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [0.0, -1.0]]]))
    # On a centre of class 0, across from its other one: only the near one counts, cosines 1 and 0.
    assert loss(torch.tensor([[-2.0, 0.0]]), torch.tensor([0])).item() == pytest.approx(log(1 + exp(-3)), abs=1e-6)


def test_agrees_with_a_loop():
    terms = []
    for x, y in zip(X, F8.tolist(), strict=True):
        near = [max(cosine(x, w) for w in centres) for centres in CENTRES]
        logits = [6 * s for s in near]
        logits[y] = 6 * cos(acos(near[y]) + 0.5)
        terms.append(log(sum(exp(logit) for logit in logits)) - logits[y])
    loss = pinned(SubCentreArcFaceLoss(**FACTS, n_centres=2, margin=0.5, scale=6))
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms), abs=1e-12)


def test_one_centre_is_arc_face():
    loss = SubCentreArcFaceLoss(**FACTS, n_centres=1, margin=28.6, margin_unit="degrees").double()
    with torch.no_grad():
        loss.weights.copy_(PROXIES.unsqueeze(1))
    assert loss(X, F8).item() == pytest.approx(48.753212347, abs=1e-9)
    arc_face = pinned(ArcFaceLoss(**FACTS, margin=28.6, margin_unit="degrees"))
    assert loss(X, F8).item() == pytest.approx(arc_face(X, F8).item(), abs=1e-12)


def test_only_the_nearest_centre_of_each_class_learns():
    loss = pinned(SubCentreArcFaceLoss(**FACTS, n_centres=2))
    loss(X[:1], F8[:1]).backward()
    assert ((loss.weights.grad.abs().sum(2) > 0).sum(1) == 1).all()
