import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from fairground.functional.distances import (
    distances,
    distances_of_pairs,
    normalize,
    norms,
    safe_sqrt,
    squared_distances,
)


def _points(n: int = 6, d: int = 3) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def test_unit_rows_have_length_one_and_a_zero_row_stays_zero():
    rows = normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


def test_a_zero_row_gets_no_gradient():
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    normalize(x)[:, 0].sum().backward()
    # The slope of x / |x| across the direction (0.6, 0.8) is 1 / 5.
    torch.testing.assert_close(x.grad, torch.tensor([[0.8 * 0.8 / 5, -0.6 * 0.8 / 5], [0.0, 0.0]]))


def test_distances_of_a_right_angled_triangle():
    corners = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    expected = torch.tensor([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    torch.testing.assert_close(distances(corners, corners), expected)
    torch.testing.assert_close(distances(corners, corners.clone()), expected)
    torch.testing.assert_close(squared_distances(corners, corners), expected.square())


@pytest.mark.parametrize("between", [squared_distances, distances])
def test_a_batch_with_itself_equals_a_batch_with_its_copy(between):
    ours, theirs = _points().requires_grad_(), _points().requires_grad_()
    weights = torch.randn(6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (between(ours, ours) * weights).sum().backward()
    (between(theirs, theirs.clone()) * weights).sum().backward()
    torch.testing.assert_close(between(ours, ours), between(theirs, theirs.clone()), atol=1e-12, rtol=0)
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize(
    "function",
    [
        normalize,
        norms,
        lambda x: squared_distances(x, x),
        lambda x: distances(x, x),
        lambda x: distances_of_pairs(x, torch.tensor([0, 1, 2, 0]), torch.tensor([0, 0, 5, 4])),
    ],
)
def test_gradients_agree_with_finite_differences(function):
    assert gradcheck(function, _points().requires_grad_())
    assert gradgradcheck(function, _points().requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_identical_points_are_at_distance_0_with_gradient_0(dtype):
    x = torch.ones(3, 2, dtype=dtype, requires_grad=True)
    between = distances(x, x)
    between.sum().backward()
    assert torch.equal(between, torch.zeros(3, 3, dtype=dtype))
    assert torch.equal(x.grad, torch.zeros(3, 2, dtype=dtype))


def test_the_distance_of_a_row_to_itself_is_exactly_0_however_long_it_is():
    x = 1e3 * torch.randn(50, 128, generator=torch.Generator().manual_seed(0))
    assert torch.equal(squared_distances(x, x).diagonal(), torch.zeros(50))


def test_pairs_by_gathering_and_by_the_matrix_are_the_same():
    x = _points(20, 3)
    left, right = torch.randint(20, (2, 500), generator=torch.Generator().manual_seed(0))
    few = distances_of_pairs(x, left[:10], right[:10])
    torch.testing.assert_close(distances_of_pairs(x, left, right)[:10], few)


def test_safe_sqrt_has_slope_0_at_0():
    squares = torch.tensor([0.0, 4.0], requires_grad=True)
    roots = safe_sqrt(squares)
    roots.sum().backward()
    assert roots.tolist() == [0.0, 2.0]
    assert squares.grad.tolist() == [0.0, 0.25]


@pytest.mark.parametrize(("dtype", "huge"), [(torch.float32, 3e38), (torch.float32, 1e20), (torch.float64, 1e300)])
def test_rows_whose_squares_overflow_keep_their_direction_and_their_length(dtype, huge):
    x = torch.tensor([[0.6, -0.8]], dtype=dtype).mul(huge).requires_grad_()
    torch.testing.assert_close(normalize(x), torch.tensor([[0.6, -0.8]], dtype=dtype))
    torch.testing.assert_close(norms(x), torch.tensor([[huge]], dtype=dtype))
    (slope,) = torch.autograd.grad(norms(x).sum(), x)
    torch.testing.assert_close(slope, torch.tensor([[0.6, -0.8]], dtype=dtype))


@pytest.mark.parametrize("function", [normalize, norms, lambda x: squared_distances(x, x), lambda x: distances(x, x)])
def test_second_derivatives_are_finite_where_rows_are_zero_or_coincide(function):
    x = torch.tensor([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0], [3.0, 4.0]], requires_grad=True)
    (first,) = torch.autograd.grad(function(x).square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), x)
    assert first.isfinite().all()
    assert second.isfinite().all()
