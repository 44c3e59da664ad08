from collections import Counter

import pytest
import torch
from scipy import stats
from torch.autograd import gradcheck, gradgradcheck

from fairground.functional import active_counts, classmates, pair_masks, quadruplet_hinges, triplet_at, triplet_hinges
from fairground.functional.pair_distances import distances, distances_of_pairs, normalize, norms, squared_distances
from fairground.functional.random_draws import distinct_below, marked_column, weighted_columns
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
