"""Factors of covariances and what is done with them."""

import numpy as np
import pytest

from fairground.sampling.covariance import divide_lower, scatter_factor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), [(50, 7), (5, 20), (300, 150)])
def test_the_factor_makes_up_the_scatter(n, d, dtype):
    centred = np.random.default_rng(0).standard_normal((n, d)).astype(dtype)
    centred -= centred.mean(0)
    factor = scatter_factor(centred)
    assert factor.dtype == dtype
    assert np.array_equal(factor, np.tril(factor))
    scatter = centred.T @ centred
    np.testing.assert_allclose(factor @ factor.T, scatter, atol=100 * np.finfo(dtype).eps * np.trace(scatter))


def test_whitened_points_have_unit_scatter():
    centred = np.random.default_rng(0).standard_normal((60, 4)) @ np.diag([1.0, 5.0, 0.1, 2.0])
    centred -= centred.mean(0)
    whitened = centred.copy()
    divide_lower(whitened, scatter_factor(centred))
    np.testing.assert_allclose(whitened.T @ whitened, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 1e-30])
def test_no_scatter_at_all_has_a_factor_too(value):
    factor = scatter_factor(np.full((6, 3), value, dtype=np.float32))
    assert np.isfinite(factor).all()
    assert abs(factor).max() < 1e-15
