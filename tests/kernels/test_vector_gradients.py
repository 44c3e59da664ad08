"""Unit vectors and listed distances: values and gradients are those of the formula."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from fairground.functional.pairs import normalize
from fairground.kernels.vector_gradients import (
    kernel_of_listed_distances,
    mean_hinge,
    normalize_rows,
    tangent_projection,
)


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


def _lists(n_anchors: int, n: int, t: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [
        (torch.randint(n_anchors, (t,), generator=generator), torch.randint(n, (t,), generator=generator))
        for _ in range(2)
    ]


@pytest.mark.parametrize(("n_anchors", "t"), [(3, 30), (9, 30), (9, 5), (9, 0)])
def test_values_and_gradients_are_those_of_distances_one_by_one(n_anchors, t):
    """By products of few rows or of all, by differences, and for no pairs; some rows are paired with themselves."""
    lists = _lists(n_anchors, 9, t)
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    z = functional.normalize(x)
    loss = x.sum() * 0
    for sign, (left, right) in zip((1, -2), lists, strict=True):
        for i, j in zip(left.tolist(), right.tolist(), strict=True):
            loss = loss + (sign * (z[i] - z[j]).norm() if i != j else 0)

    def rule(distances: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        near, far = distances
        return near.sum() - 2 * far.sum(), [np.ones_like(near), np.full_like(far, -2)]

    with torch.no_grad():
        result = kernel_of_listed_distances(x, lists, rule)
    torch.testing.assert_close(result.value, loss.detach())
    torch.testing.assert_close(result.gradient, torch.autograd.grad(loss, x)[0])


def test_the_mean_of_hinges_by_hand():
    excess = np.array([1.0, -1.0, 0.0, 2.0])
    for over_active, n in ((True, 2), (False, 4)):
        mean, gradient = mean_hinge(excess, over_active)
        assert mean == 3 / n
        assert gradient.tolist() == [1 / n, 0, 0, 1 / n]
    assert mean_hinge(np.empty(0), True)[0] == 0
    assert np.isnan(mean_hinge(np.array([np.nan, 1.0]), True)[0])
