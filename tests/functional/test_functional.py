"""The mathematics of a batch: distances, draws, hinges, reductions and spectra."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from fairground.functional.reductions import (
    NOTHING,
    soft_bins,
    soft_ranks,
    softplus,
    sum_over_blocks,
    weighted_logsumexp,
)
from fairground.functional.spectral import collapse_of, singular_values
from scipy import stats
from torch.autograd import gradcheck, gradgradcheck

from fairground.functional import reductions
from fairground.functional.pairs import (
    distances,
    distances_of_pairs,
    distinct_below,
    marked_column,
    normalize,
    norms,
    pair_masks,
    squared_distances,
    weighted_columns,
)
from fairground.functional.triplets import (
    active_counts,
    classmates,
    quadruplet_hinges,
    triplet_at,
    triplet_hinges,
)
from tests.kernels import by_loops
from tests.losses.fixtures import F8
from tests.miners.oracle import all_triplets, triplet_list


def _points(n: int = 6, d: int = 3) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def test_unit_rows_have_length_one_and_a_zero_row_stays_zero():
    rows = normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


def test_distances_of_a_right_angled_triangle():
    corners = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    expected = torch.tensor([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    torch.testing.assert_close(distances(corners, corners), expected)
    torch.testing.assert_close(distances(corners, corners.clone()), expected)
    torch.testing.assert_close(squared_distances(corners, corners), expected.square())


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


def test_the_distance_of_a_row_to_itself_is_exactly_0_however_long_it_is():
    x = 1e3 * torch.randn(50, 128, generator=torch.Generator().manual_seed(0))
    assert torch.equal(squared_distances(x, x).diagonal(), torch.zeros(50))


def test_pairs_by_gathering_and_by_the_matrix_are_the_same():
    x = _points(20, 3)
    left, right = torch.randint(20, (2, 500), generator=torch.Generator().manual_seed(0))
    few = distances_of_pairs(x, left[:10], right[:10])
    torch.testing.assert_close(distances_of_pairs(x, left, right)[:10], few)


@pytest.mark.parametrize(("dtype", "huge"), [(torch.float32, 3e38), (torch.float32, 1e20), (torch.float64, 1e300)])
def test_rows_whose_squares_overflow_keep_their_direction_and_their_length(dtype, huge):
    x = torch.tensor([[0.6, -0.8]], dtype=dtype).mul(huge).requires_grad_()
    torch.testing.assert_close(normalize(x), torch.tensor([[0.6, -0.8]], dtype=dtype))
    torch.testing.assert_close(norms(x), torch.tensor([[huge]], dtype=dtype))
    (slope,) = torch.autograd.grad(norms(x).sum(), x)
    torch.testing.assert_close(slope, torch.tensor([[0.6, -0.8]], dtype=dtype))


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


def test_numbers_run_through_all_triplets():
    batch = classmates(F8)
    found = set()
    for anchor in range(8):
        each = torch.arange(int(batch.n_triplets[anchor]))
        found |= set(triplet_list(triplet_at(batch, torch.full_like(each, anchor), each)))
    assert found == all_triplets(F8)


LABELS = [0, 0, 1, 0, 2, 1, 3, 0, 2, 0]


def _symmetric(n: int, seed: int) -> torch.Tensor:
    matrix = 2 * torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    # Of eighths, so that thresholds and values tie where the margin is one too.
    return ((matrix + matrix.T) / 2 * 8).round() / 8 if seed % 2 else (matrix + matrix.T) / 2


def test_counts_by_hand():
    thresholds, values = torch.tensor([1.0, 3.0, -torch.inf]), torch.tensor([0.0, 1.0, 2.0, torch.inf])
    below, above = active_counts(thresholds, values)
    assert (below.tolist(), above.tolist()) == ([1, 3, 0], [2, 1, 1, 0])
    groups = torch.tensor([7, -2, 7]), torch.tensor([7, -2, 7, 7])
    below, above = active_counts(thresholds, values, groups=groups)
    assert (below.tolist(), above.tolist()) == ([1, 1, 0], [1, 1, 0, 0])


@pytest.mark.parametrize("margin", [-0.375, 0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_triplets_agree_with_three_loops(seed, margin):
    matrix = _symmetric(len(LABELS), seed)
    found = triplet_hinges(matrix, *pair_masks(torch.tensor(LABELS)), margin)
    total, n_active = by_loops.triplets(matrix, LABELS, margin)
    assert found[0].item() == pytest.approx(total, abs=1e-12)
    assert found[1].item() == n_active


@pytest.mark.parametrize("seed", range(6))
def test_quadruplets_agree_with_four_loops(seed):
    labels = torch.randint(5, (9,), generator=torch.Generator().manual_seed(seed))
    matrix = _symmetric(9, seed)
    found = quadruplet_hinges(matrix, labels, *pair_masks(labels), 0.125)
    total, n_active = by_loops.quadruplets(matrix, labels.tolist(), 0.125)
    assert found[0].item() == pytest.approx(total, abs=1e-12)
    assert found[1].item() == n_active


def test_small_hinges_beside_large_numbers_keep_their_digits():
    matrix = 1e6 + torch.tensor([[0.0, 0.25, 0.125], [0.25, 0.0, 0.25], [0.125, 0.25, 0.0]])
    found = triplet_hinges(matrix, *pair_masks(torch.tensor([0, 0, 1])), 0.0)
    assert found[0].item() == 0.125


def test_blocks_are_summed_and_worked_out_anew_for_the_gradient(monkeypatch):
    monkeypatch.setattr(reductions, "BLOCK", 20)
    x = torch.randn(9, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    seen = []

    def cubes(rows: slice) -> torch.Tensor:
        seen.append(rows.start)
        return x[rows].pow(3).sum()

    total = sum_over_blocks(cubes, 9, 5)
    assert seen == [0, 4, 8]
    assert torch.allclose(total, x.pow(3).sum())
    (gradient,) = torch.autograd.grad(total, x, create_graph=True)
    assert len(seen) > 3
    assert torch.allclose(gradient, 3 * x.square())
    assert torch.allclose(torch.autograd.grad(gradient.sum(), x)[0], 6 * x)
    assert torch.allclose(torch.func.grad(lambda y: sum_over_blocks(lambda r: y[r].pow(3).sum(), 9, 5))(x), gradient)


def test_softplus_is_exact_where_torch_rounds_to_the_identity():
    assert softplus(torch.tensor(21.0, dtype=torch.float64)).item() > 21
    assert softplus(torch.tensor([-1000.0, 0.0, 1000.0])).tolist() == pytest.approx([0, 0.6931472, 1000])


def test_weights_count_as_often_as_they_say_and_rows_without_any_have_no_gradient():
    values = torch.tensor([[0.0, 1.0, 5.0], [3.0, 4.0, 5.0]], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    found = weighted_logsumexp(values, weights)
    assert found[0].item() == pytest.approx(math.log(2 + math.e), abs=1e-12)
    assert found[1] < NOTHING / 2
    (gradient,) = torch.autograd.grad(softplus(found).sum(), values, create_graph=True)
    (second,) = torch.autograd.grad(gradient.square().sum(), values)
    assert second.isfinite().all()
    assert not gradient[1].any()
    assert gradient[0, 2] == 0


def test_a_value_lies_between_two_nodes():
    positions = torch.tensor([0.0, 0.25, 1.0, 2.5, 3.0, 0.5])
    lower, upper = bins = soft_bins(positions, torch.tensor([1.0, 1, 1, 1, 1, 0]), 3)
    # The last node belongs to the last bin; what has no weight belongs to none.
    assert lower.tolist() == [1.75, 1, 0.5]
    assert upper.tolist() == [0.25, 0, 1.5]
    assert bins.histogram().tolist() == [1.75, 1.25, 0.5, 1.5]


def batch(n=7):
    generator = torch.Generator().manual_seed(n)
    similarities = torch.randn(n, n, generator=generator, dtype=torch.float64)
    return similarities, (torch.rand(2, n, n, generator=generator) < 0.6).double()


def test_blocks_give_the_same_ranks_and_derivatives(monkeypatch):
    s, among = batch()
    weights = torch.randn(2, 7, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def values():
        leaf = s.clone().requires_grad_()
        ranks = soft_ranks(leaf, among, 0.3)
        (first,) = torch.autograd.grad((ranks * weights).sum(), leaf, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), leaf)
        return ranks, first, second

    at_once = values()
    monkeypatch.setattr(reductions, "RANK_BLOCK", 2 * 7 * 7)
    for ours, theirs in zip(values(), at_once, strict=True):
        torch.testing.assert_close(ours, theirs)


def cloud(n=200, d=64):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(0))


def test_a_healthy_cloud_is_not_collapsed():
    seen = collapse_of(cloud())
    assert seen.kind == "none"
    assert not seen.is_collapsed
    assert seen.spread == pytest.approx(1, abs=0.02)
    assert 40 < seen.effective_dimensions <= 64


def test_each_collapse_is_named():
    one = cloud(1)
    assert collapse_of(one + 0.001 * cloud()).kind == "point"
    line = torch.linspace(-3, 3, 200)[:, None] * one + 0.05 * cloud()
    assert collapse_of(line).kind == "line"
    plane = cloud(200, 3) @ torch.eye(3, 256)
    assert collapse_of(plane).kind == "few_dimensions"
    assert "dimensions" in collapse_of(plane).sentence
    assert collapse_of(torch.zeros(4, 16)).kind == "zero"
    assert collapse_of(torch.full((4, 16), torch.nan)).kind == "not_finite"


def test_blocks_give_the_singular_values_of_the_whole():
    draw = np.random.default_rng(0)
    # Condition number 1e12: squaring the matrix would lose the small values.
    matrix = draw.normal(size=(300, 6)) * 10.0 ** -np.arange(0, 12, 2)
    whole = np.linalg.svd(matrix, compute_uv=False)
    for step in (7, 100, 300):
        blocks = (matrix[begin : begin + step] for begin in range(0, 300, step))
        np.testing.assert_allclose(singular_values(blocks), whole, rtol=1e-6)
