import math

import pytest
import torch

from fairground.functional import memory_blocks, soft_bins, soft_histograms_and_ranks, soft_ranks, sum_over_blocks
from fairground.functional.means_and_log_sums import NOTHING, softplus, weighted_logsumexp


def test_blocks_are_summed_and_worked_out_anew_for_the_gradient(monkeypatch):
    monkeypatch.setattr(memory_blocks, "BLOCK", 20)
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
    monkeypatch.setattr(soft_histograms_and_ranks, "RANK_BLOCK", 2 * 7 * 7)
    for ours, theirs in zip(values(), at_once, strict=True):
        torch.testing.assert_close(ours, theirs)
