import pytest
import torch
from torch.autograd import gradcheck

from fairground.contracts.tuples import Pairs
from fairground.kernels.listed_hinges import _by_operations, over_listed_pairs
from fairground.kernels.sphere_hinges import PairShares, PairTotals


def _means(totals: PairTotals) -> PairShares:
    n_near, n_far = max(1, totals.n_near), max(1, totals.n_negative)
    return PairShares(totals.near / n_near + totals.far / n_far, 1 / n_near, 1 / n_far)


def _pairs(n_anchors: int, n: int) -> Pairs:
    generator = torch.Generator().manual_seed(0)
    anchors = torch.randint(n_anchors, (2, 30), generator=generator)
    others = torch.randint(n, (2, 30), generator=generator)
    return Pairs(anchors[0], others[0], anchors[1], others[1])


def _points() -> torch.Tensor:
    return torch.randn(9, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("n_anchors", [3, 9])
def test_compiled_and_tensor_operations_agree_with_repeats_and_rows_paired_with_themselves(n_anchors):
    pairs = _pairs(n_anchors, 9)
    assert (pairs.positive_anchor == pairs.positive).any()
    ours, theirs = _points().requires_grad_(), _points().requires_grad_()
    one, other = over_listed_pairs(ours, pairs, 0.3, 1.2, _means), _by_operations(theirs, pairs, 0.3, 1.2, _means)
    one.backward()
    other.backward()
    torch.testing.assert_close(one, other)
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_gradient_agrees_with_finite_differences():
    pairs = _pairs(3, 9)
    assert gradcheck(lambda x: over_listed_pairs(x, pairs, 0.3, 1.2, _means), _points().requires_grad_())


@pytest.mark.parametrize("way", [over_listed_pairs, _by_operations])
def test_an_empty_list_costs_0_with_gradient_0(way):
    nothing = torch.empty(0, dtype=torch.long)
    x = _points().requires_grad_()
    loss = way(x, Pairs(nothing, nothing, nothing, nothing), 0.3, 1.2, _means)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(x.grad, torch.zeros_like(x))


def test_columns_of_one_matrix_may_be_given():
    pairs = _pairs(9, 9)
    table = torch.stack(pairs, 1)
    strided = Pairs(*table.unbind(1))
    assert over_listed_pairs(_points(), strided, 0.3, 1.2, _means) == over_listed_pairs(
        _points(), pairs, 0.3, 1.2, _means
    )
