import pytest
import torch

from fairground.functional.distances import normalize
from fairground.kernels.vector_gradients import normalize_rows, tangent_projection


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_become_length_one_and_short_rows_zero(dtype):
    units, inverse = normalize_rows(torch.tensor([[3.0, 4.0], [0.0, 1e-13]], dtype=dtype))
    torch.testing.assert_close(units, torch.tensor([[0.6, 0.8], [0.0, 0.0]], dtype=dtype))
    torch.testing.assert_close(inverse, torch.tensor([[0.2], [0.0]], dtype=dtype))


def test_only_the_part_across_the_row_comes_back_divided_by_its_length():
    units, inverse = normalize_rows(torch.tensor([[5.0, 0.0]]))
    assert tangent_projection(torch.tensor([[7.0, 10.0]]), units, inverse).tolist() == [[0.0, 2.0]]


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float32, 1e38), (torch.float32, 1.0), (torch.float64, 1e300)])
def test_value_and_gradient_are_those_of_the_formula(dtype, scale):
    generator = torch.Generator().manual_seed(0)
    x = (torch.randn(5, 4, generator=generator, dtype=torch.float64) * scale).to(dtype).requires_grad_()
    upstream = torch.randn(5, 4, generator=generator, dtype=torch.float64).to(dtype)
    expected = normalize(x)
    (gradient,) = torch.autograd.grad(expected, x, upstream)
    units, inverse = normalize_rows(x)
    torch.testing.assert_close(units, expected)
    torch.testing.assert_close(tangent_projection(upstream.clone(), units, inverse), gradient)
