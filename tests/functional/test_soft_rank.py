import torch

from fairground.functional.soft_rank import soft_bins_


def test_a_value_lies_between_two_nodes():
    slot, fraction = soft_bins_(torch.tensor([0.0, 0.25, 1.0, 2.5, 3.0, -torch.inf]), 3)
    # The last node belongs to the last bin; minus infinity belongs to none.
    assert slot.tolist() == [1, 1, 2, 3, 3, 0]
    assert fraction[:-1].tolist() == [0, 0.25, 0, 0.5, 1]
