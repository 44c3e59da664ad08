import pytest
import torch

from fairground.functional import distances as formula
from fairground.kernels import vector_gradients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["distances", "squared_distances"])
def test_distances_are_those_of_the_formula(dtype, name):
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)
    x[3] = x[2]
    torch.testing.assert_close(getattr(vector_gradients, name)(x), getattr(formula, name)(x, x))
    torch.testing.assert_close(vector_gradients.normalize(x), formula.normalize(x))
