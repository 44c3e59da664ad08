import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from fairground.errors import InputError
from fairground.heads.pca import PcaHead


def features() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    found = torch.randn(300, 8, generator=generator) @ torch.randn(8, 8, generator=generator) + 50
    found[:, 3] = 7.3
    return found


@pytest.mark.parametrize("standardise", [True, False])
def test_it_starts_as_the_projection_scikit_learn_finds(standardise: bool) -> None:
    given = features()
    head = PcaHead(n_features=8, embedding_dim=3, standardise=standardise)
    head.fit(torch.split(given, 64))
    rows = given.double().numpy()
    if standardise:
        deviation = rows.std(0)
        rows = (rows - rows.mean(0)) / np.where(deviation < 1e-6, 1, deviation)
    expected = PCA(3).fit_transform(rows)
    found = head(given).detach().numpy()
    assert np.allclose(np.abs(found), np.abs(expected), atol=2e-4)


def test_a_value_by_hand() -> None:
    # Mean (1, 5), deviations (1, 0): only the first axis says anything, and it points upwards.
    head = PcaHead(n_features=2, embedding_dim=1)
    head.fit([torch.tensor([[0.0, 5.0], [2.0, 5.0]])])
    assert head(torch.tensor([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]])).ravel().tolist() == pytest.approx([-1, 1, 3])


def test_more_axes_than_there_are_is_refused() -> None:
    with pytest.raises(InputError, match=r"pca\.embedding_dim must be in \[1, 8\], the width of the features; got 9"):
        PcaHead(n_features=8, embedding_dim=9)
    head = PcaHead(n_features=8, embedding_dim=5)
    with pytest.raises(InputError, match=r"pca\.embedding_dim must be below the number of training images, 4.*got 5"):
        head.fit([features()[:4]])
