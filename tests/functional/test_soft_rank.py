import pytest
import torch

from fairground.functional import soft_rank
from fairground.functional.soft_rank import soft_bins, soft_ranks


def test_a_value_lies_between_two_nodes():
    positions = torch.tensor([0.0, 0.25, 1.0, 2.5, 3.0, 0.5])
    lower, upper = bins = soft_bins(positions, torch.tensor([1.0, 1, 1, 1, 1, 0]), 3)
    # The last node belongs to the last bin; what has no weight belongs to none.
    assert lower.tolist() == [1.75, 1, 0.5]
    assert upper.tolist() == [0.25, 0, 1.5]
    assert bins.histogram().tolist() == [1.75, 1.25, 0.5, 1.5]


def test_what_is_not_a_number_shows_in_the_histogram():
    assert soft_bins(torch.tensor([torch.nan]), torch.ones(1), 3).histogram().isnan().any()


def test_every_row_has_its_own_histogram():
    positions = torch.tensor([[0.0, 2.0], [1.0, 1.5]])
    assert soft_bins(positions, torch.ones(2, 2), 2).histogram().tolist() == [[1, 0, 1], [0, 1.5, 0.5]]


def batch(n=7):
    generator = torch.Generator().manual_seed(n)
    similarities = torch.randn(n, n, generator=generator, dtype=torch.float64)
    return similarities, (torch.rand(2, n, n, generator=generator) < 0.6).double()


def test_ranks_agree_with_a_loop():
    s, among = batch()
    ranks = soft_ranks(s, among, 0.3)
    for m in range(2):
        for a in range(7):
            for p in range(7):
                above = sum(
                    float(among[m, a, j]) * float(torch.sigmoid((s[a, j] - s[a, p]) / 0.3)) for j in range(7) if j != p
                )
                assert float(ranks[m, a, p]) == pytest.approx(1 + above)


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
    monkeypatch.setattr(soft_rank, "BLOCK", 2 * 7 * 7)
    for ours, theirs in zip(values(), at_once, strict=True):
        torch.testing.assert_close(ours, theirs)
