from collections import Counter

import pytest
import torch
from scipy import stats
from torch.autograd import gradcheck, gradgradcheck

from fairground.contracts.loss import Pairs, Triplets
from fairground.functional.pairs import (
    capped,
    distances,
    distances_of_pairs,
    distinct_below,
    fractions,
    marked_column,
    normalize,
    norms,
    one_random_positive,
    pair_masks,
    pair_weights,
    safe_sqrt,
    squared_distances,
    weighted_columns,
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


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def fits(observed, chances):
    expected = torch.tensor(chances, dtype=torch.float64)
    expected = expected / expected.sum() * sum(observed)
    return stats.chisquare(observed, expected.numpy()).pvalue > 1e-3


def test_a_marked_column_is_drawn_evenly():
    mask = torch.tensor([False, True, True, False, True]).expand(30_000, 5)
    counts = torch.bincount(marked_column(mask, seeded()), minlength=5).tolist()
    assert counts[0] == counts[3] == 0
    assert fits([counts[1], counts[2], counts[4]], [1, 1, 1])


def test_a_row_without_marks_gives_some_column():
    assert 0 <= int(marked_column(torch.zeros(1, 4, dtype=torch.bool), seeded())) < 4


def test_weighted_columns_have_the_chances_of_their_weights():
    weights = torch.tensor([0.0, 1.0, 3.0, 0.0, 0.5, 0.0])
    for dtype in (torch.float32, torch.float64):
        drawn = weighted_columns(weights.to(dtype).expand(10_000, 6), 3, seeded())
        assert drawn.shape == (10_000, 3)
        counts = torch.bincount(drawn.flatten(), minlength=6).tolist()
        assert counts[0] == counts[3] == counts[5] == 0
        assert fits([counts[1], counts[2], counts[4]], [1, 3, 0.5])


def test_distinct_numbers_are_distinct_and_as_many_as_asked():
    totals = torch.tensor([0, 1, 5, 100, 7, 0, 10**10])
    row, rank = distinct_below(totals, 6, seeded())
    assert Counter(row.tolist()) == {1: 1, 2: 5, 3: 6, 4: 6, 6: 6}
    pairs = list(zip(row.tolist(), rank.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert all(0 <= k < int(totals[r]) for r, k in pairs)


def test_every_subset_is_equally_likely():
    for cap in (2, 3):
        # Six rows of five: pairs are drawn, triples are what a drawn pair leaves over.
        row, rank = distinct_below(torch.full((6000,), 5), cap, seeded(cap))
        subsets = Counter(map(tuple, rank.view(6000, cap).tolist()))
        assert row.tolist() == [i for i in range(6000) for _ in range(cap)]
        assert len(subsets) == 10
        assert fits(list(subsets.values()), [1] * 10)


def test_capped_keeps_some_of_each_group():
    group = torch.tensor([0, 0, 0, 2, 2, 3])
    for seed in range(10):
        kept = capped(group, 5, 2, seeded(seed))
        assert Counter(group[kept].tolist()) == {0: 2, 2: 2, 3: 1}
        assert kept.unique().numel() == kept.numel()


def test_fractions_come_from_the_generator():
    like = torch.zeros(1)
    assert torch.equal(fractions(4, like, seeded(2)), fractions(4, like, seeded(2)))


LABELS = torch.tensor([4, 1, 4, 4, 9])


def test_masks_are_the_equality_of_labels_without_the_diagonal():
    positive, negative = pair_masks(LABELS)
    for i, one in enumerate(LABELS.tolist()):
        for j, other in enumerate(LABELS.tolist()):
            assert bool(positive[i, j]) == (one == other and i != j)
            assert bool(negative[i, j]) == (one != other)


def test_without_a_miner_every_pair_weighs_1():
    embeddings = torch.zeros(5, 2, dtype=torch.float64)
    weights = pair_weights(embeddings, LABELS, None)
    for ours, mask in zip(weights, pair_masks(LABELS), strict=True):
        assert ours.dtype == torch.float64
        assert torch.equal(ours, mask.double())


def test_mined_pairs_weigh_1_or_as_often_as_they_were_chosen():
    triplets = Triplets(*(torch.tensor(index) for index in ([0, 0, 2], [2, 2, 3], [1, 1, 4])))
    once, counted = (pair_weights(torch.zeros(5, 2), LABELS, triplets, repeats=repeats) for repeats in (False, True))
    assert once.positive.nonzero().tolist() == counted.positive.nonzero().tolist() == [[0, 2], [2, 3]]
    assert (once.positive[0, 2], counted.positive[0, 2], counted.positive[2, 3]) == (1, 2, 1)
    assert (once.negative[0, 1], counted.negative[0, 1], counted.negative[2, 4]) == (1, 2, 1)
    nothing = torch.empty(0, dtype=torch.long)
    empty = pair_weights(torch.zeros(5, 2), LABELS, Pairs(nothing, nothing, nothing, nothing))
    assert not any(weights.any() for weights in empty)


def test_one_random_positive_for_each_anchor_that_has_any():
    pairs = pair_weights(torch.zeros(5, 2), LABELS, None)
    generator = torch.Generator().manual_seed(0)
    seen = torch.zeros(5, 5)
    for _ in range(60):
        chosen = one_random_positive(pairs, generator)
        assert chosen.positive.sum(1).tolist() == [1, 0, 1, 1, 0]
        assert torch.equal(chosen.negative, pairs.negative)
        seen += chosen.positive
    assert torch.equal(seen > 0, pairs.positive > 0)
