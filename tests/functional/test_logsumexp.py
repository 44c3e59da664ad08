import pytest
import torch

from fairground.functional.logsumexp import log_one_plus_sum_exp, softplus


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
