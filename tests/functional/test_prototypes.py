from functools import partial
from math import cos, pi, sin

import pytest
import torch

from fairground.errors import InputError
from fairground.functional.prototypes import (
    bend_,
    bent_cross_entropy_,
    by_centre,
    class_indices,
    class_vectors,
    cosines,
    cross_entropy_,
    of_cosines,
    scale_own_,
    widened_angle,
)
from tests.losses.fixtures import CENTRES, F8, PROXIES, X
from tests.losses.pinned import cosine

OWN = F8.unsqueeze(1)
WIDE = partial(widened_angle, margin=1.4, fallback=True)


def test_cosines_are_those_of_a_loop():
    expected = torch.tensor([[cosine(x, p) for p in PROXIES] for x in X], dtype=torch.float64)
    assert torch.allclose(cosines(X, PROXIES), expected, rtol=0, atol=1e-14)


def _of_cosines(rule):
    return lambda embeddings, vectors: of_cosines(embeddings, vectors, rule)


def _leaves():
    return X.clone().requires_grad_(), PROXIES.clone().requires_grad_()


RULES = {
    "sum of squares": lambda c: (c.square().sum(), 2 * c),
    "cross-entropy": lambda c: cross_entropy_(c, OWN, 5.0),
    "bent cross-entropy": lambda c: bent_cross_entropy_(c, OWN, 5.0, WIDE),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_slopes_become_gradients(rule):
    assert torch.autograd.gradcheck(_of_cosines(rule), _leaves())


def test_slopes_by_length_become_gradients():
    leaves = _leaves()

    def of(embeddings, vectors):
        lengths = embeddings.detach().norm(dim=1, keepdim=True)
        return of_cosines(embeddings, vectors, lambda c: ((c * lengths).sum(), lengths.expand_as(c), c.sum(1, True)))

    # Length times cosine is the product with the unit vector.
    expected = (leaves[0] @ (leaves[1] / leaves[1].norm(dim=1, keepdim=True)).T).sum()
    wanted = torch.autograd.grad(expected, leaves)
    value = of(*leaves)
    assert value.item() == pytest.approx(expected.item(), abs=1e-12)
    for got, want in zip(torch.autograd.grad(value, leaves), wanted, strict=True):
        assert torch.allclose(got, want, rtol=0, atol=1e-12)


def test_cross_entropy_is_that_of_torch():
    value, slopes = cross_entropy_(X[:, :4].clone(), OWN, 3.0)
    leaf = X[:, :4].clone().requires_grad_()
    expected = torch.nn.functional.cross_entropy(leaf * 3, F8)
    assert value.item() == pytest.approx(expected.item(), abs=1e-14)
    assert torch.allclose(slopes, torch.autograd.grad(expected, leaf)[0], rtol=0, atol=1e-15)


def test_inputs_are_left_as_they_were():
    embeddings, vectors = _leaves()
    of_cosines(embeddings, vectors, RULES["bent cross-entropy"]).backward()
    assert torch.equal(embeddings, X)
    assert torch.equal(vectors, PROXIES)


def test_a_zero_vector_has_cosine_zero_and_gradient_zero():
    leaf = torch.tensor([[0.0, 0.0], [1.0, 1.0]], requires_grad=True)
    seen = []
    of_cosines(leaf, torch.eye(2), lambda c: (seen.append(c.clone()), (c.sum(), torch.ones_like(c) * c))[1]).backward()
    assert seen[0][0].tolist() == [0, 0]
    assert leaf.grad[0].tolist() == [0, 0]


def test_a_second_derivative_is_refused_rather_than_wrong():
    leaf = X.clone().requires_grad_()
    value = of_cosines(leaf, PROXIES, RULES["sum of squares"])
    (slope,) = torch.autograd.grad(value, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        slope.sum().backward()


def test_single_precision_vectors_follow_double_embeddings():
    assert of_cosines(X, PROXIES.float(), RULES["cross-entropy"]).dtype == torch.float64
    assert cosines(X, PROXIES.float()).dtype == torch.float64


def test_first_centres_come_first():
    flat = by_centre(CENTRES)
    assert torch.equal(flat[:4], CENTRES[:, 0])
    assert torch.equal(flat[4:], CENTRES[:, 1])


@pytest.mark.parametrize("fallback", [True, False])
def test_widened_angle_and_its_slope(fallback):
    theta = torch.tensor([[0.3], [1.0], [2.9]], dtype=torch.float64, requires_grad=True)
    value, slope = widened_angle(theta, 0.5, fallback=fallback)
    past = cos(2.9) - 0.5 * sin(0.5) if fallback else cos(3.4)
    assert value.flatten().tolist() == pytest.approx([cos(0.8), cos(1.5), past])
    assert torch.allclose(slope, torch.autograd.grad(value.sum(), theta)[0])


def test_bending_touches_only_the_own_class():
    before = cosines(X, PROXIES)
    bent = before.clone()
    slope = bend_(bent, OWN, partial(widened_angle, margin=0.2, fallback=True))
    own = torch.nn.functional.one_hot(F8, 4).bool()
    theta = before[own].arccos()
    assert torch.equal(bent[~own], before[~own])
    assert torch.allclose(bent[own], (theta + 0.2).cos())
    assert torch.allclose(slope.squeeze(1), (theta + 0.2).sin() / theta.sin())


def test_bending_is_finite_at_the_ends():
    straight = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    slope = bend_(straight, torch.zeros(2, 1, dtype=torch.long), partial(widened_angle, margin=pi / 4, fallback=False))
    assert slope.isfinite().all()


def test_scaling_the_own_slope():
    slopes = torch.arange(6.0).view(2, 3)
    own = torch.tensor([[2], [0]])
    assert scale_own_(slopes, own, torch.tensor([[10.0], [0.5]])).tolist() == [[0, 1, 20], [1.5, 4, 5]]


def test_an_empty_batch_costs_nothing():
    leaf = torch.empty(0, 4, requires_grad=True)
    own = class_indices(torch.empty(0, dtype=torch.long), 3, "some")
    value = of_cosines(leaf, PROXIES.float(), lambda c: cross_entropy_(c, own, 1.0))
    value.backward()
    assert value.item() == 0


def test_refusals():
    with pytest.raises(InputError, match="some knows the labels 0 to 2, one for each of its 3 classes; got 3"):
        class_indices(torch.tensor([0, 3, 1]), 3, "some")
    with pytest.raises(InputError, match="got -2"):
        class_indices(torch.tensor([0, -2, 7]), 3, "some")
    with pytest.raises(InputError, match=r"some.initialisation must be 'normal', 'small_normal' or 'uniform'; got 'x'"):
        class_vectors((3, 2), "x", "some")
    with pytest.raises(InputError, match=r"some.n_centres must be at least 1; got 0"):
        class_vectors((3, 0, 2), "normal", "some")
