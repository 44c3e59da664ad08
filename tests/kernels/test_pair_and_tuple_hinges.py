import numpy as np
import pytest
import torch

from fairground.functional import triplets as formula
from fairground.functional.pairs import pair_masks
from fairground.kernels import tuple_hinge_losses
from fairground.kernels.batch_pairs import class_order
from fairground.kernels.pair_hinge_losses import hinge_gradient, row_hinges
from fairground.kernels.tuple_hinge_losses import looped_triplets, quadruplet_hinges, triplet_hinges
from tests.kernels import by_loops

LABELS = [0, 0, 1, 0, 2, 1, 3, 0, 2, 0]
ORDER = class_order(torch.tensor(LABELS))


def _symmetric(n: int, seed: int) -> torch.Tensor:
    matrix = 2 * torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    # Of eighths, so that thresholds and values tie where the margin is one too.
    return ((matrix + matrix.T) / 2 * 8).round() / 8 if seed % 2 else (matrix + matrix.T) / 2


def test_pairs_agree_with_two_loops():
    matrix = _symmetric(len(LABELS), 0)
    upper, lower = np.linspace(0.2, 0.6, 10), np.linspace(0.9, 1.4, 10)
    nears, fars, n_near, n_far = row_hinges(matrix.numpy(), *ORDER, upper, lower)
    for a, own in enumerate(LABELS):
        near = [max(0.0, float(matrix[a, j]) - upper[a]) for j, y in enumerate(LABELS) if y == own and j != a]
        far = [max(0.0, lower[a] - float(matrix[a, j])) for j, y in enumerate(LABELS) if y != own]
        assert nears[a] == pytest.approx(sum(near), abs=1e-12)
        assert fars[a] == pytest.approx(sum(far), abs=1e-12)
        assert (n_near[a], n_far[a]) == (np.count_nonzero(near), np.count_nonzero(far))


def test_the_gradient_of_pairs_weighs_active_hinges_only():
    matrix = np.array([[0.0, 0.5, 0.2], [0.5, 0.0, 1.5], [0.2, 1.5, 0.0]])
    order = class_order(torch.tensor([7, 7, 8]))
    borders = np.full(3, 0.4), np.full(3, 1.0)
    gradient = hinge_gradient(matrix, *order, *borders, np.full(3, 2.0), np.full(3, 3.0))
    assert gradient.tolist() == [[0, 2, -3], [2, 0, 0], [-3, 0, 0]]


@pytest.mark.parametrize("many", [0, 128])
@pytest.mark.parametrize("margin", [-0.375, 0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_triplets_agree_with_three_loops_and_their_gradient_with_the_formula(monkeypatch, seed, margin, many):
    monkeypatch.setattr(tuple_hinge_losses, "MANY", many)
    matrix = _symmetric(len(LABELS), seed).requires_grad_()
    found = triplet_hinges(matrix.detach().numpy(), ORDER, margin)
    assert (found.total, found.n_active) == pytest.approx(by_loops.triplets(matrix, LABELS, margin), abs=1e-12)
    expected = formula.triplet_hinges(matrix, *pair_masks(torch.tensor(LABELS)), margin)
    (gradient,) = torch.autograd.grad(expected.total, matrix)
    assert found.gradient.tolist() == gradient.tolist()


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("smooth", [False, True])
def test_looped_triplets_agree_with_three_loops(swap, smooth):
    matrix = _symmetric(len(LABELS), 0).requires_grad_()
    found = looped_triplets(matrix.detach().numpy(), ORDER, 0.1, swap=swap, smooth=smooth)
    terms = []
    for a, own in enumerate(LABELS):
        for p in (p for p, y in enumerate(LABELS) if y == own and p != a):
            for n in (n for n, y in enumerate(LABELS) if y != own):
                far = torch.minimum(matrix[a, n], matrix[p, n]) if swap else matrix[a, n]
                excess = matrix[a, p] - far + 0.1
                terms.append(torch.nn.functional.softplus(excess) if smooth else excess.relu())
    total = torch.stack(terms).sum()
    assert found.total == pytest.approx(total.item(), abs=1e-12)
    assert found.n_active == sum(bool(term > 0) for term in terms)
    torch.testing.assert_close(torch.from_numpy(found.gradient), torch.autograd.grad(total, matrix)[0])


@pytest.mark.parametrize("seed", range(6))
def test_quadruplets_agree_with_four_loops_and_their_gradient_with_the_formula(seed):
    labels = torch.randint(5, (9,), generator=torch.Generator().manual_seed(seed))
    matrix = _symmetric(9, seed).requires_grad_()
    found = quadruplet_hinges(matrix.detach().numpy(), class_order(labels), 0.125)
    expected = by_loops.quadruplets(matrix, labels.tolist(), 0.125)
    assert (found.total, found.n_active) == pytest.approx(expected, abs=1e-12)
    by_formula = formula.quadruplet_hinges(matrix, labels, *pair_masks(labels), 0.125)
    assert found.gradient.tolist() == torch.autograd.grad(by_formula.total, matrix)[0].tolist()


@pytest.mark.parametrize("labels", [[3], [1, 1], [1, 1, 2, 2], [1, 2, 3], [0, 0, 0]])
def test_without_quadruplets_mean_and_gradient_are_0(labels):
    order = class_order(torch.tensor(labels))
    mean, gradient = quadruplet_hinges(_symmetric(len(labels), 0).numpy(), order, 1.0).mean()
    assert mean == 0
    assert not gradient.any()


@pytest.mark.parametrize("many", [0, 128])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_not_a_number_is_not_lost(monkeypatch, dtype, many):
    monkeypatch.setattr(tuple_hinge_losses, "MANY", many)
    for row in range(len(LABELS)):
        matrix = _symmetric(len(LABELS), 0).to(dtype)
        matrix[row] = matrix[:, row] = torch.nan
        assert np.isnan(triplet_hinges(matrix.numpy(), ORDER, 0.2).total)
