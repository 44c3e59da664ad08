import pytest
import torch
from torch.autograd import gradcheck

from fairground.functional.pairs import list_positives
from fairground.kernels import hinges
from fairground.kernels.gradients import with_gradient
from fairground.kernels.hinges import pair_hinges, triplet_hinges

LABELS = [0, 0, 1, 0, 2, 1, 3, 0, 2, 0]


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


@pytest.mark.parametrize("many", [0, 64])
@pytest.mark.parametrize("margin", [-0.3, 0.0, 0.5])
def test_triplets_agree_with_three_loops(monkeypatch, many, margin):
    monkeypatch.setattr(hinges, "_MANY", many)
    matrix = _matrix(len(LABELS))
    found = triplet_hinges(matrix, list_positives(torch.tensor(LABELS)), margin)
    expected = _triplets_by_loop(matrix, LABELS, margin)
    assert found.total.item() == pytest.approx(expected[0], abs=1e-12)
    assert found.n_active.item() == expected[1]


@pytest.mark.parametrize("many", [0, 64])
@pytest.mark.parametrize("block", [1, 2**22])
def test_triplet_slopes_agree_with_finite_differences(monkeypatch, many, block):
    monkeypatch.setattr(hinges, "_MANY", many)
    monkeypatch.setattr(hinges, "_BLOCK", block)
    positives = list_positives(torch.tensor(LABELS))

    def mean(matrix: torch.Tensor) -> torch.Tensor:
        return with_gradient(matrix, lambda m: triplet_hinges(m, positives, 0.2).mean(), normalise=False)

    assert gradcheck(mean, _matrix(len(LABELS)).requires_grad_())


def test_both_ways_of_counting_agree_when_values_tie():
    labels = torch.arange(4).repeat_interleave(6)
    values = torch.randint(5, (24, 24), generator=torch.Generator().manual_seed(0)).double()
    positives = list_positives(labels)
    thresholds = torch.where(positives.exists, values.gather(1, positives.rows), -torch.inf)
    negatives = hinges.negatives_only(values, positives)
    for few, many in zip(
        hinges._count_few(thresholds, negatives), hinges._count_many(thresholds, negatives), strict=True
    ):
        assert torch.equal(few, many)


@pytest.mark.parametrize("labels", [[4], [1, 1], [1, 2], [1, 1, 1], [1, 2, 3]])
def test_no_triplet_gives_0_with_slopes_0(labels):
    matrix = _matrix(len(labels))
    mean, slopes = triplet_hinges(matrix, list_positives(torch.tensor(labels)), 0.2).mean()
    assert mean.item() == 0
    assert torch.equal(slopes, torch.zeros_like(matrix))


def test_pairs_agree_with_two_loops():
    matrix = _matrix(len(LABELS))
    near, far = pair_hinges(matrix, list_positives(torch.tensor(LABELS)), 0.4, 1.1)
    for a, own in enumerate(LABELS):
        positive = [max(0.0, float(matrix[a, j]) - 0.4) for j, label in enumerate(LABELS) if label == own and j != a]
        negative = [max(0.0, 1.1 - float(matrix[a, j])) for j, label in enumerate(LABELS) if label != own]
        assert near[a].sum().item() == pytest.approx(sum(positive), abs=1e-12)
        assert far[a].sum().item() == pytest.approx(sum(negative), abs=1e-12)


def test_pair_slopes_weigh_active_hinges_only():
    matrix = torch.tensor([[0.0, 0.5, 0.2], [0.5, 0.0, 1.5], [0.2, 1.5, 0.0]])
    positives = list_positives(torch.tensor([7, 7, 8]))
    hinges_found = pair_hinges(matrix, positives, 0.4, 1.0)
    slopes = hinges_found.slopes(positives, torch.tensor(2.0), torch.tensor(3.0))
    assert slopes.tolist() == [[0, 2, -3], [2, 0, 0], [-3, 0, 0]]
