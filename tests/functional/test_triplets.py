import pytest
import torch

from fairground.functional import active_counts, classmates, pair_masks, quadruplet_hinges, triplet_at, triplet_hinges
from tests.kernels import by_loops
from tests.losses.fixtures import F8
from tests.miners.oracle import all_triplets, triplet_list


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
