import pytest
import torch

from fairground.functional.distances import distances, normalize
from fairground.kernels.vector_gradients import kernel_of_distances, kernel_of_products


def _weigh(weights):
    return lambda matrix: ((matrix * weights).sum(), weights.clone())


FORMULAS = {kernel_of_products: lambda x: x @ x.T, kernel_of_distances: lambda x: distances(x, x)}
each_comparison = pytest.mark.parametrize("compare", FORMULAS)


@each_comparison
@pytest.mark.parametrize("normalise", [False, True])
def test_value_and_gradient_are_those_of_the_formula(compare, normalise):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64).requires_grad_()
    weights = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    value = (FORMULAS[compare](normalize(x) if normalise else x) * weights).sum()
    result = compare(x.detach(), _weigh(weights), normalise=normalise)
    torch.testing.assert_close(result.value, value.detach())
    torch.testing.assert_close(result.gradient, torch.autograd.grad(value, x)[0])


def test_matrices_are_what_they_are_called():
    x = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    seen = []

    def rule(matrix):
        seen.append(matrix.clone())
        return matrix.sum(), torch.zeros_like(matrix)

    for compare in FORMULAS:
        for normalise in (False, True):
            compare(x, rule, normalise=normalise)
    expected = [[[9, 0], [0, 16]], [[1, 0], [0, 1]], [[0, 5], [5, 0]], [[0, 2**0.5], [2**0.5, 0]]]
    torch.testing.assert_close(torch.stack(seen), torch.tensor(expected))
