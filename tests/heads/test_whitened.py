import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from fairground.errors import InputError
from fairground.heads.pca import PcaHead
from fairground.heads.whitened import WhitenedHead


def features() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(300, 8, generator=generator) @ torch.randn(8, 8, generator=generator) + 5


def test_with_power_1_it_starts_as_the_whitening_scikit_learn_finds() -> None:
    given = features()
    head = WhitenedHead(n_features=8, embedding_dim=3)
    head.fit(torch.split(given, 64))
    # scikit-learn divides by n - 1
    expected = PCA(3, whiten=True).fit_transform(given.double().numpy()) * np.sqrt(300 / 299)
    assert np.allclose(np.abs(head(given).detach().numpy()), np.abs(expected), atol=2e-4)


def test_with_power_0_it_is_pca_and_halfway_the_spread_is_its_root() -> None:
    given = features()
    plain, none, half = (
        PcaHead(n_features=8, embedding_dim=3, standardise=False),
        WhitenedHead(n_features=8, embedding_dim=3, power=0.0),
        WhitenedHead(n_features=8, embedding_dim=3, power=0.5),
    )
    for head in (plain, none, half):
        head.fit([given])
    assert torch.allclose(plain(given), none(given), atol=1e-5)
    deviations = plain(given).std(0, correction=0)
    assert half(given).std(0, correction=0).tolist() == pytest.approx(deviations.sqrt().tolist(), rel=1e-4)


def test_an_axis_of_no_spread_is_not_blown_up() -> None:
    given = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    head = WhitenedHead(n_features=2, embedding_dim=2)
    head.fit([given])
    assert float(head(given).detach().abs().max()) < 2


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"whitened\.embedding_dim must be in \[1, 8\].*got 9"):
        WhitenedHead(n_features=8, embedding_dim=9)
    with pytest.raises(InputError, match=r"whitened\.power must be in \[0, 1\]; got 2"):
        WhitenedHead(n_features=8, embedding_dim=2, power=2.0)
    with pytest.raises(InputError, match=r"below the number of training images, 4.*got 5"):
        WhitenedHead(n_features=8, embedding_dim=5).fit([features()[:4]])
