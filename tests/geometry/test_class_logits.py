from functools import partial
from math import cos, pi, sin

import pytest
import torch

from fairground.errors import InputError
from fairground.geometry.class_logits import (
    bend_target,
    class_indices,
    class_vectors,
    cosines,
    lower_target,
    mean_cross_entropy,
    target_of,
    widened_angle,
)
from tests.losses.fixtures import F8, PROXIES, X
from tests.losses.pinned import cosine


def test_cosines_are_those_of_a_loop():
    expected = torch.tensor([[cosine(x, p) for p in PROXIES] for x in X], dtype=torch.float64)
    assert torch.allclose(cosines(X, PROXIES), expected, rtol=0, atol=1e-14)


def test_gradient_of_cosines_by_finite_differences():
    assert torch.autograd.gradcheck(cosines, (X.clone().requires_grad_(), PROXIES.clone().requires_grad_()))
    assert torch.autograd.gradcheck(lambda w: cosines(X, w), (PROXIES.clone().requires_grad_(),))


def test_a_zero_vector_has_cosine_zero_and_gradient_zero():
    leaf = torch.tensor([[0.0, 0.0], [1.0, 1.0]], requires_grad=True)
    value = cosines(leaf, torch.eye(2))
    value[:, 0].sum().backward()
    assert value[0].tolist() == [0, 0]
    assert leaf.grad[0].tolist() == [0, 0]
    assert leaf.grad[1].abs().sum() > 0


def test_a_second_derivative_is_refused_rather_than_wrong():
    leaf = X.clone().requires_grad_()
    (slope,) = torch.autograd.grad(cosines(leaf, PROXIES).square().sum(), leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_single_precision_vectors_follow_double_embeddings():
    assert cosines(X, PROXIES.float()).dtype == torch.float64


@pytest.mark.parametrize("fallback", [True, False])
def test_widened_angle_and_its_slope(fallback):
    theta = torch.tensor([[0.3], [1.0], [2.9]], dtype=torch.float64, requires_grad=True)
    value, slope = widened_angle(theta, 0.5, fallback=fallback)
    past = cos(2.9) - 0.5 * sin(0.5) if fallback else cos(3.4)
    assert value.flatten().tolist() == pytest.approx([cos(0.8), cos(1.5), past])
    assert torch.allclose(slope, torch.autograd.grad(value.sum(), theta)[0])


def test_bending_touches_only_the_target():
    logits = cosines(X, PROXIES)
    bent = bend_target(logits, F8, partial(widened_angle, margin=0.2, fallback=True))
    own = torch.nn.functional.one_hot(F8, 4).bool()
    assert torch.equal(bent[~own], logits[~own])
    assert bent[own].tolist() == pytest.approx((logits[own].arccos() + 0.2).cos().tolist())


def test_gradient_of_bending_by_finite_differences():
    leaf = cosines(X, PROXIES).requires_grad_()
    curve = partial(widened_angle, margin=1.4, fallback=True)
    assert torch.autograd.gradcheck(lambda logits: bend_target(logits, F8, curve), (leaf,))


def test_bending_is_finite_at_the_ends():
    leaf = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], requires_grad=True)
    curve = partial(widened_angle, margin=pi / 4, fallback=False)
    bend_target(leaf, torch.tensor([0, 0]), curve).sum().backward()
    assert leaf.grad.isfinite().all()


def test_target_and_lowered_target():
    logits = torch.arange(6.0).view(2, 3)
    labels = torch.tensor([2, 0])
    assert target_of(logits, labels).tolist() == [[2], [3]]
    assert lower_target(logits, labels, 0.5).tolist() == [[0, 1, 1.5], [2.5, 4, 5]]


def test_an_empty_batch_costs_nothing():
    logits = torch.empty(0, 3, requires_grad=True)
    value = mean_cross_entropy(logits, torch.empty(0, dtype=torch.long))
    value.backward()
    assert value.item() == 0
    assert class_indices(torch.empty(0, dtype=torch.long), 3, "some") is not None


def test_refusals():
    with pytest.raises(InputError, match="some knows the labels 0 to 2, one for each of its 3 classes; got 3"):
        class_indices(torch.tensor([0, 3, 1]), 3, "some")
    with pytest.raises(InputError, match="got -2"):
        class_indices(torch.tensor([0, -2, 7]), 3, "some")
    with pytest.raises(InputError, match=r"some.initialisation must be 'normal', 'small_normal' or 'uniform'; got 'x'"):
        class_vectors((3, 2), "x", "some")
    with pytest.raises(InputError, match=r"some.n_centres must be at least 1; got 0"):
        class_vectors((3, 0, 2), "normal", "some")
