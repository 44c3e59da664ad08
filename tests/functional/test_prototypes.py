"""Class vectors: cosines, angles, cross-entropy and the spread of centres."""

from math import pi

import pytest
import torch

from fairground.functional.prototypes import (
    angles,
    centre_spread,
    cosines,
    mean_cross_entropy,
)
from tests.losses.fixtures import CENTRES, F8, PROXIES, X
from tests.losses.oracles import cosine


def test_cosines_are_those_of_a_loop():
    expected = torch.tensor([[cosine(x, p) for p in PROXIES] for x in X], dtype=torch.float64)
    assert torch.allclose(cosines(X, PROXIES), expected, rtol=0, atol=1e-14)


def test_a_zero_vector_has_cosine_zero_and_gradient_zero():
    leaf = torch.tensor([[0.0, 0.0], [1.0, 1.0]], requires_grad=True)
    between = cosines(leaf, torch.eye(2))
    between.square().sum().backward()
    assert between[0].tolist() == [0, 0]
    assert leaf.grad[0].tolist() == [0, 0]


def test_cross_entropy_is_the_mean_and_nothing_for_nobody():
    logits = 3 * X[:, :4]
    expected = torch.nn.functional.cross_entropy(logits, F8)
    assert mean_cross_entropy(logits, F8).item() == pytest.approx(expected.item(), abs=1e-14)
    leaf = torch.empty(0, 4, requires_grad=True)
    value = mean_cross_entropy(leaf, torch.empty(0, dtype=torch.long))
    value.backward()
    assert value.item() == 0


def test_angles_have_finite_derivatives_at_the_ends():
    straight = torch.tensor([1.0, -1.0, 0.0], requires_grad=True)
    theta = angles(straight)
    assert theta.tolist() == pytest.approx([0, pi, pi / 2], abs=1e-3)
    theta.sum().backward()
    assert straight.grad.isfinite().all()


def test_spread_of_the_fixture():
    assert centre_spread(CENTRES, per_pair=False).item() == pytest.approx(0.603899101, abs=1e-9)
    assert centre_spread(CENTRES, per_pair=True).item() == pytest.approx(1.207798202, abs=1e-9)
