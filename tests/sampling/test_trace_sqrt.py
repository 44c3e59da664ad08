"""The trace of a root, against eigenvalues."""

import numpy as np
import pytest

from fairground.sampling.trace_sqrt import trace_sqrt


def by_eigenvalues(matrix):
    return np.sqrt(np.clip(np.linalg.eigvalsh(matrix), 0, None)).sum()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 112])
@pytest.mark.parametrize("decay", [1.0, 0.9, 0.7, 0.3])
def test_agrees_with_eigenvalues(n, decay):
    root = np.random.default_rng(n).standard_normal((n, n + 2)) * decay ** np.arange(n + 2)
    matrix = root @ root.T
    assert trace_sqrt(matrix.copy()) == pytest.approx(by_eigenvalues(matrix), rel=3e-7)


def test_well_conditioned_matrices_to_nine_digits():
    root = np.random.default_rng(0).standard_normal((40, 200))
    matrix = root @ root.T
    assert trace_sqrt(matrix.copy()) == pytest.approx(by_eigenvalues(matrix), rel=1e-9)


def test_by_hand():
    assert trace_sqrt(np.diag([4.0, 9.0, 0.0, 16.0])) == pytest.approx(9, rel=1e-7)
    # Eigenvalues 1 and 9.
    assert trace_sqrt(np.array([[5.0, 4.0], [4.0, 5.0]])) == pytest.approx(4, rel=1e-9)
    assert trace_sqrt(np.zeros((5, 5))) == 0


@pytest.mark.parametrize("scale", [1e-60, 1e-12, 1e12, 1e60])
def test_any_scale(scale):
    root = np.random.default_rng(0).standard_normal((9, 12))
    matrix = root @ root.T
    assert trace_sqrt(matrix * scale) == pytest.approx(by_eigenvalues(matrix) * scale**0.5, rel=1e-8)


def test_rounding_below_zero_does_no_harm():
    root = np.random.default_rng(0).standard_normal((60, 3))
    matrix = root @ root.T
    assert np.linalg.eigvalsh(matrix).min() < 0
    assert trace_sqrt(matrix.copy()) == pytest.approx(by_eigenvalues(matrix), rel=1e-5)
