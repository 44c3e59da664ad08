import pytest
import torch

from fairground.kernels.log_sum_losses import group_sums, row_sums_

ROWS = torch.tensor([[0.5, -1.0, 700.0], [-3.0, 2.0, 0.0], [-900.0, -901.0, -902.0]], dtype=torch.float64)


@pytest.mark.parametrize("plus_one", [False, True])
def test_rows_agree_with_torch(plus_one):
    logits = ROWS.clone().requires_grad_()
    extra = torch.zeros(3, 1, dtype=torch.float64) if plus_one else torch.empty(3, 0, dtype=torch.float64)
    expected = torch.cat([logits, extra], 1).logsumexp(1)
    expected.sum().backward()
    sums = row_sums_(ROWS.clone(), plus_one=plus_one)
    torch.testing.assert_close(sums.log, expected.detach())
    torch.testing.assert_close(sums.shares_(torch.ones(3, dtype=torch.float64)), logits.grad)


@pytest.mark.parametrize("plus_one", [False, True])
def test_groups_agree_with_rows(plus_one):
    values = ROWS.flatten()
    order = torch.tensor([4, 8, 0, 2, 1, 7, 3, 6, 5])
    group = torch.arange(3).repeat_interleave(3)
    groups = group_sums(values[order], group[order], 3, plus_one=plus_one)
    rows = row_sums_(ROWS.clone(), plus_one=plus_one)
    torch.testing.assert_close(groups.log, rows.log)
    torch.testing.assert_close(groups.shares, rows.shares_(torch.ones(3, dtype=torch.float64)).flatten()[order])


def test_an_empty_sum_is_minus_infinity_with_no_shares():
    rows = row_sums_(torch.tensor([[-torch.inf, -torch.inf], [0.0, -torch.inf]]))
    assert rows.log.tolist() == [-torch.inf, 0]
    assert rows.shares_(torch.ones(2)).tolist() == [[0, 0], [1, 0]]
    groups = group_sums(torch.tensor([2.0]), torch.tensor([1]), 3)
    assert groups.log.tolist() == [-torch.inf, 2, -torch.inf]
    assert row_sums_(torch.full((1, 2), -torch.inf), plus_one=True).log.tolist() == [0]
    assert group_sums(torch.empty(0), torch.empty(0, dtype=torch.long), 2, plus_one=True).log.tolist() == [0, 0]
