import math

import pytest
import torch

from fairground.functional.reductions import NOTHING, log_one_plus_sum_exp, masked_softmax, softplus, weighted_logsumexp


@pytest.mark.parametrize("dim", [0, 1])
def test_one_is_added_to_the_sum(dim):
    values = torch.tensor([[0.0, -torch.inf], [1000.0, -torch.inf]])
    expected = [1000, 0] if dim == 0 else [0.6931472, 1000]
    assert log_one_plus_sum_exp(values, dim).tolist() == pytest.approx(expected)


def test_the_sum_of_nothing_is_0_with_a_gradient_to_take():
    values = torch.full((2, 3), -torch.inf, requires_grad=True)
    total = log_one_plus_sum_exp(values, 0).sum()
    total.backward()
    assert total.item() == 0
    assert torch.equal(values.grad, torch.zeros(2, 3))
    assert log_one_plus_sum_exp(torch.empty(0, 3), 0).tolist() == [0, 0, 0]


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


def test_a_softmax_over_marked_entries_is_0_elsewhere():
    values = torch.tensor([[1.0, 2.0, 900.0], [1.0, 2.0, 3.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    shares = masked_softmax(values, mask)
    assert torch.equal(shares[0, :2], values[0, :2].softmax(0))
    assert shares[0, 2] == 0
    assert not shares[1].any()
