from math import exp, log

import pytest
import torch

from fairground.losses import NormalisedSoftmaxLoss, ProxyNcaLoss
from tests.losses.fixtures import F8, F8B, PROXIES, X
from tests.losses.pinned import FACTS, cosine, pinned


def _on_axes(**settings):
    loss = ProxyNcaLoss(n_classes=2, embedding_dim=2, **settings)
    with torch.no_grad():
        loss.proxies.copy_(torch.eye(2))
    return loss


def test_value_by_hand():
    on_proxy, own = torch.tensor([[5.0, 0.0]]), torch.tensor([0])
    # Squared distances 0 to the own proxy and 2 to the other, times 3.
    assert _on_axes(scale=3)(on_proxy, own).item() == pytest.approx(log(1 + exp(-6)), abs=1e-6)
    assert _on_axes(scale=3, positive_in_denominator=False)(on_proxy, own).item() == pytest.approx(-6)
    assert _on_axes(scale=3, positive_in_denominator=False, power=1)(on_proxy, own).item() == pytest.approx(-3 * 2**0.5)


@pytest.mark.parametrize(
    ("labels", "inclusive", "value"),
    [(F8, True, 7.646044173), (F8, False, 4.959406243), (F8B, False, 1.615110558)],
)
def test_fixture_value(labels, inclusive, value):
    loss = pinned(ProxyNcaLoss(**FACTS, scale=9, positive_in_denominator=inclusive))
    assert loss(X, labels).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("power", [1, 2])
def test_agrees_with_a_loop(inclusive, power):
    terms = []
    for x, y in zip(X, F8.tolist(), strict=True):
        far = [4 * (2 - 2 * cosine(x, p)) ** (power / 2) for p in PROXIES]
        terms.append(far[y] + log(sum(exp(-far[c]) for c in range(4) if inclusive or c != y)))
    loss = pinned(ProxyNcaLoss(**FACTS, scale=4, positive_in_denominator=inclusive, power=power))
    assert loss(X, F8).item() == pytest.approx(sum(terms) / len(terms), abs=1e-11)


def test_the_inclusive_form_is_normalised_softmax():
    softmax = pinned(NormalisedSoftmaxLoss(**FACTS, temperature=1 / 18))
    assert pinned(ProxyNcaLoss(**FACTS, scale=9))(X, F8).item() == pytest.approx(softmax(X, F8).item(), abs=1e-13)


@pytest.mark.parametrize(("scale", "value"), [(50, 35.22), (200, 140.7)])
def test_no_sample_is_dropped_when_its_probability_underflows(scale, value):
    loss = pinned(ProxyNcaLoss(**FACTS, scale=scale)).float()
    assert loss(X.float(), F8B).item() == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("inclusive", [True, False])
def test_one_class_is_zero_with_a_zero_gradient(inclusive):
    loss = ProxyNcaLoss(n_classes=1, embedding_dim=4, positive_in_denominator=inclusive)
    leaf = X.float().requires_grad_()
    value = loss(leaf, torch.zeros(8, dtype=torch.long))
    value.backward()
    assert value.item() == 0
    assert leaf.grad.abs().max() == 0


@pytest.mark.parametrize("power", [1, 2])
def test_finite_gradient_on_the_proxy(power):
    loss = pinned(ProxyNcaLoss(**FACTS, power=power))
    leaf = PROXIES[F8].clone().requires_grad_()
    loss(leaf, F8).backward()
    assert leaf.grad.isfinite().all()
