"""Class vectors: cosines, angles, cross-entropy and the spread of centres."""

from math import cos, pi, sin, sqrt

import pytest
import torch

from fairground.errors import InputError
from fairground.functional.prototypes import (
    angles,
    centre_spread,
    class_vectors,
    cosines,
    cosines_with_centres,
    mean_cross_entropy,
    widened_cosine,
)
from tests.losses.fixtures import CENTRES, F8, PROXIES, X
from tests.losses.oracles import cosine


def test_cosines_are_those_of_a_loop():
    expected = torch.tensor([[cosine(x, p) for p in PROXIES] for x in X], dtype=torch.float64)
    assert torch.allclose(cosines(X, PROXIES), expected, rtol=0, atol=1e-14)


def test_cosines_with_centres_are_those_of_a_loop():
    expected = torch.tensor(
        [[[cosine(x, one[k]) for one in CENTRES] for k in range(2)] for x in X], dtype=torch.float64
    )
    assert torch.allclose(cosines_with_centres(X, CENTRES), expected, rtol=0, atol=1e-14)
    assert cosines_with_centres(X[:0], CENTRES).shape == (0, 2, 4)


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


@pytest.mark.parametrize("fallback", [True, False])
def test_widened_cosine(fallback):
    theta = torch.tensor([0.3, 1.0, 2.9], dtype=torch.float64)
    past = cos(2.9) - 0.5 * sin(0.5) if fallback else cos(3.4)
    assert widened_cosine(theta, 0.5, fallback=fallback).tolist() == pytest.approx([cos(0.8), cos(1.5), past])


def test_refusals():
    with pytest.raises(InputError, match=r"some.n_centres must be at least 1; got 0"):
        class_vectors((3, 0, 2), "normal", "some")


def test_spread_of_the_fixture():
    assert centre_spread(CENTRES, per_pair=False).item() == pytest.approx(0.603899101, abs=1e-9)
    assert centre_spread(CENTRES, per_pair=True).item() == pytest.approx(1.207798202, abs=1e-9)


def test_three_centres_a_class_agree_with_a_loop():
    centres = torch.cat([CENTRES, CENTRES.flip(2)[:, :1]], dim=1)
    total = sum(
        sqrt(2 - 2 * cosine(one[first], one[second])) for one in centres for first, second in ((0, 1), (0, 2), (1, 2))
    )
    assert centre_spread(centres, per_pair=False).item() == pytest.approx(total / (4 * 3 * 2), abs=1e-12)
