"""Products and quotients with a triangular matrix, in place."""

import numpy as np
import pytest

from fairground.sampling.covariance import divide_lower, times_lower


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 30, 700])
def test_products_and_quotients_with_a_triangle(n, dtype, order):
    rng = np.random.default_rng(0)
    left = rng.standard_normal((n, 8)).astype(dtype)
    lower = np.tril(rng.standard_normal((8, 8))).astype(dtype, order=order) + 3 * np.eye(8, dtype=dtype, order=order)
    tolerance = 100 * np.finfo(dtype).eps
    product = left.copy()
    times_lower(product, lower)
    np.testing.assert_allclose(product, left @ lower, rtol=tolerance, atol=tolerance)
    quotient = left.copy()
    divide_lower(quotient, lower)
    np.testing.assert_allclose(quotient @ lower.T, left, rtol=tolerance, atol=tolerance)
