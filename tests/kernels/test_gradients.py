import pytest
import torch

from fairground.errors import InputError
from fairground.kernels.gradients import _distances, of_distances, of_products


def _weigh(weights):
    return lambda matrix: ((matrix * weights).sum(), weights.clone())


@pytest.mark.parametrize("compare", [of_products, of_distances])
@pytest.mark.parametrize("normalise", [False, True])
def test_gradient_by_finite_differences(compare, normalise):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64).requires_grad_()
    weights = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: 3 * compare(x, _weigh(weights), normalise=normalise), (x,))


def test_matrices_are_what_they_are_called():
    x = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    seen = []

    def rule(matrix):
        seen.append(matrix.clone())
        return matrix.sum(), torch.zeros_like(matrix)

    for compare in (of_products, of_distances):
        for normalise in (False, True):
            compare(x, rule, normalise=normalise)
    expected = [[[9, 0], [0, 16]], [[1, 0], [0, 1]], [[0, 5], [5, 0]], [[0, 2**0.5], [2**0.5, 0]]]
    torch.testing.assert_close(torch.stack(seen), torch.tensor(expected))


@pytest.mark.parametrize("compare", [of_products, of_distances])
def test_coincident_and_zero_vectors_have_finite_gradients(compare):
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]).requires_grad_()
    compare(x, _weigh(torch.ones(4, 4)), normalise=True).backward()
    assert x.grad.isfinite().all()
    assert not x.grad[2:].any()


def test_a_second_derivative_is_refused():
    x = torch.randn(3, 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = of_products(x, lambda s: (s.square().sum(), 2 * s), normalise=False)
    with pytest.raises(InputError, match="this loss has no second derivative"):
        torch.autograd.grad(loss, x, create_graph=True)


def test_without_a_gradient_to_take_the_value_is_the_same():
    x = torch.randn(3, 2, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        plain = of_products(x, _weigh(torch.ones(3, 3)), normalise=False)
    assert not plain.requires_grad
    assert plain.item() == pytest.approx(x.sum(0).square().sum().item(), rel=1e-5)


class _Elsewhere(torch.Tensor):
    """A tensor that says it is not in main memory, to take the way of other devices."""

    is_cpu = False


@pytest.mark.parametrize("are_units", [False, True])
def test_distances_elsewhere_are_the_same(are_units):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    x[1] = x[0]
    weights = torch.randn(6, 6, generator=generator, dtype=torch.float64)
    here = _distances(x, _weigh(weights), are_units)
    there = _distances(x.as_subclass(_Elsewhere), _weigh(weights), are_units)
    torch.testing.assert_close(here[0], there[0].as_subclass(torch.Tensor))
    torch.testing.assert_close(here[1], there[1].as_subclass(torch.Tensor))
