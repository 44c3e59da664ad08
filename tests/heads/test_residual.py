import pytest
import torch

from fairground.errors import InputError
from fairground.heads.residual import ResidualHead


def test_it_starts_as_the_features_less_their_mean() -> None:
    head = ResidualHead(n_features=2, rank=1)
    head.fit([torch.tensor([[0.0, 2.0]]), torch.tensor([[2.0, 4.0]])])
    assert head(torch.tensor([[1.0, 3.0], [5.0, 3.0]])).tolist() == [[0, 0], [4, 0]]


def test_the_correction_is_added() -> None:
    head = ResidualHead(n_features=2, rank=1, centre=False)
    with torch.no_grad():
        head.down.weight.copy_(torch.tensor([[1.0, 1.0]]))
        head.up.weight.copy_(torch.tensor([[2.0], [0.0]]))
    assert head(torch.tensor([[1.0, 3.0]])).tolist() == [[9, 3]]


def test_a_rank_beyond_the_width_is_refused() -> None:
    with pytest.raises(InputError, match=r"residual\.rank must be in \[1, 4\], the feature width; got 5"):
        ResidualHead(n_features=4, rank=5)
