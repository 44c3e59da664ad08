import pytest
import torch
from torch.autograd import gradcheck

from fairground.geometry import hinges
from fairground.geometry.hinges import pair_hinges, triplet_hinges
from fairground.geometry.positives import list_positives


def _matrix(n: int, seed: int = 0) -> torch.Tensor:
    return 2 * torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _triplets_by_loop(matrix: torch.Tensor, labels: list[int], margin: float) -> tuple[float, int]:
    hinge_sum, n_active = 0.0, 0
    for a, own in enumerate(labels):
        for p, near in enumerate(labels):
            for n, far in enumerate(labels):
                if p != a and near == own and far != own:
                    hinge = float(matrix[a, p] - matrix[a, n]) + margin
                    hinge_sum += max(0.0, hinge)
                    n_active += hinge > 0
    return hinge_sum, n_active


LABELS = [0, 0, 1, 0, 2, 1, 3, 0, 2, 0]


@pytest.mark.parametrize("many", [0, 64])
@pytest.mark.parametrize("margin", [-0.3, 0.0, 0.5])
def test_triplets_agree_with_three_loops(monkeypatch, many, margin):
    monkeypatch.setattr(hinges, "_MANY", many)
    matrix = _matrix(len(LABELS))
    hinge_sum, n_active = triplet_hinges(matrix, list_positives(torch.tensor(LABELS)), margin)
    expected = _triplets_by_loop(matrix, LABELS, margin)
    assert hinge_sum.item() == pytest.approx(expected[0], abs=1e-12)
    assert n_active.item() == expected[1]


@pytest.mark.parametrize("many", [0, 64])
@pytest.mark.parametrize("block", [1, 2**22])
def test_triplet_gradients_agree_with_finite_differences(monkeypatch, many, block):
    monkeypatch.setattr(hinges, "_MANY", many)
    monkeypatch.setattr(hinges, "_BLOCK", block)
    positives = list_positives(torch.tensor(LABELS))
    assert gradcheck(lambda m: triplet_hinges(m, positives, 0.2)[0], _matrix(len(LABELS)).requires_grad_())


def test_both_ways_of_counting_agree_when_values_tie():
    labels = torch.arange(4).repeat_interleave(6)
    values = torch.randint(5, (24, 24), generator=torch.Generator().manual_seed(0)).double()
    positives = list_positives(labels)
    thresholds = torch.where(positives.exists, values.gather(1, positives.rows), -torch.inf)
    negatives = hinges.negatives_only(values, positives.rows)
    for few, many in zip(
        hinges._count_few(thresholds, negatives), hinges._count_many(thresholds, negatives), strict=True
    ):
        assert torch.equal(few, many)


@pytest.mark.parametrize("labels", [[4], [1, 1], [1, 2], [1, 1, 1], [1, 2, 3]])
def test_no_triplet_gives_0_with_gradient_0(labels):
    matrix = _matrix(len(labels)).requires_grad_()
    hinge_sum, n_active = triplet_hinges(matrix, list_positives(torch.tensor(labels)), 0.2)
    hinge_sum.backward()
    assert hinge_sum.item() == n_active.item() == 0
    assert torch.equal(matrix.grad, torch.zeros_like(matrix))


def test_pairs_agree_with_two_loops():
    matrix = _matrix(len(LABELS))
    found = pair_hinges(matrix, list_positives(torch.tensor(LABELS)), 0.4, 1.1)
    for a, own in enumerate(LABELS):
        near = [float(matrix[a, j]) - 0.4 for j, label in enumerate(LABELS) if label == own and j != a]
        far = [1.1 - float(matrix[a, j]) for j, label in enumerate(LABELS) if label != own]
        assert found.positive[a].item() == pytest.approx(sum(max(0, x) for x in near), abs=1e-12)
        assert found.negative[a].item() == pytest.approx(sum(max(0, x) for x in far), abs=1e-12)
        assert found.n_positive[a] == sum(x > 0 for x in near)
        assert found.n_negative[a] == sum(x > 0 for x in far)


def test_pair_gradients_agree_with_finite_differences_for_matrix_and_borders():
    positives = list_positives(torch.tensor(LABELS))
    upper = torch.linspace(0.2, 0.7, len(LABELS), dtype=torch.float64).unsqueeze(1).requires_grad_()
    lower = torch.linspace(0.9, 1.6, len(LABELS), dtype=torch.float64).unsqueeze(1).requires_grad_()
    assert gradcheck(
        lambda m, u, w: pair_hinges(m, positives, u, w)[:2], (_matrix(len(LABELS)).requires_grad_(), upper, lower)
    )
