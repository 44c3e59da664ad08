import pytest
import torch
from torch.autograd import gradcheck

from fairground.functional.pairs import list_positives
from fairground.kernels import far_pairs
from fairground.kernels.far_pairs import far_pair_hinges
from fairground.kernels.gradients import with_gradient


def _symmetric(n: int, seed: int) -> torch.Tensor:
    matrix = torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (matrix + matrix.T) / 2


def _by_loop(matrix: torch.Tensor, labels: list[int], margin: float) -> tuple[float, int]:
    hinge_sum, n_active, rows = 0.0, 0, range(len(labels))
    for a in rows:
        for p in rows:
            for n in rows:
                for m in range(n + 1, len(labels)):
                    is_positive = p != a and labels[p] == labels[a]
                    if is_positive and len({labels[a], labels[n], labels[m]}) == 3:
                        hinge = float(matrix[a, p] - matrix[n, m]) + margin
                        hinge_sum += max(0.0, hinge)
                        n_active += hinge > 0
    return hinge_sum, n_active


@pytest.mark.parametrize("way", ["compiled", "blocks of 1", "one block"])
@pytest.mark.parametrize("seed", range(6))
def test_quadruplets_agree_with_four_loops(monkeypatch, seed, way):
    if way != "compiled":
        monkeypatch.setattr(far_pairs, "_count_compiled", far_pairs._count)
        monkeypatch.setattr(far_pairs, "_BLOCK", 1 if way == "blocks of 1" else 2**20)
    labels = torch.randint(5, (9,), generator=torch.Generator().manual_seed(seed))
    matrix = _symmetric(9, seed)
    if seed % 2:
        # Ties between thresholds and distances: the margin is a multiple of the same eighth.
        matrix = (matrix * 8).round() / 8
    found = far_pair_hinges(matrix, labels, list_positives(labels), 0.125)
    expected = _by_loop(matrix, labels.tolist(), 0.125)
    assert found.total.item() == pytest.approx(expected[0], abs=1e-12)
    assert found.n_active.item() == expected[1]


def test_slopes_agree_with_finite_differences():
    labels = torch.tensor([0, 0, 1, 1, 2, 2, 3, 0])
    positives = list_positives(labels)

    def mean(matrix: torch.Tensor) -> torch.Tensor:
        both = (matrix + matrix.T) / 2
        return with_gradient(both, lambda m: far_pair_hinges(m, labels, positives, 0.2).mean(), normalise=False)

    assert gradcheck(mean, _symmetric(8, 1).requires_grad_())


@pytest.mark.parametrize("labels", [[3], [1, 1], [1, 1, 2, 2], [1, 2, 3], [0, 0, 0]])
def test_fewer_than_three_classes_or_no_positives_give_0(labels):
    labels = torch.tensor(labels)
    mean, slopes = far_pair_hinges(_symmetric(len(labels), 0), labels, list_positives(labels), 1.0).mean()
    assert mean.item() == 0
    assert not slopes.any()


def test_both_ways_agree_on_a_larger_batch():
    labels = torch.randint(12, (60,), generator=torch.Generator().manual_seed(3))
    matrix, positives = _symmetric(60, 4), list_positives(labels)
    compiled = far_pair_hinges(matrix, labels, positives, 0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(far_pairs, "_count_compiled", far_pairs._count)
        by_operations = far_pair_hinges(matrix, labels, positives, 0.1)
    assert compiled.n_active == by_operations.n_active
    torch.testing.assert_close(compiled.total, by_operations.total)
    torch.testing.assert_close(compiled.slopes, by_operations.slopes)
