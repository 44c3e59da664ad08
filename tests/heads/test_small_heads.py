"""Heads with a formula of one line: by hand and against scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from torch import nn

from fairground.errors import InputError
from fairground.heads import MlpHead, PcaHead, ResidualHead, WhitenedHead


def test_layers_stand_as_the_settings_say() -> None:
    head = MlpHead(n_features=8, embedding_dim=2, hidden=(6, 5), activation="gelu", batch_norm=True)
    kinds = [type(layer) for layer in head.layers]
    assert kinds == [nn.Linear, nn.BatchNorm1d, nn.GELU, nn.Linear, nn.BatchNorm1d, nn.GELU, nn.Linear]
    assert [layer.out_features for layer in head.layers if isinstance(layer, nn.Linear)] == [6, 5, 2]


def test_a_value_by_hand_of_mlp() -> None:
    head = MlpHead(n_features=1, embedding_dim=1, hidden=(2,))
    with torch.no_grad():
        head.layers[0].weight.copy_(torch.tensor([[1.0], [-1.0]]))
        head.layers[0].bias.copy_(torch.tensor([0.5, 0.5]))
        head.layers[2].weight.copy_(torch.tensor([[2.0, 3.0]]))
        head.layers[2].bias.fill_(1.0)
    # 2 * relu(2 + .5) + 3 * relu(-2 + .5) + 1 = 6;  2 * relu(-1.5) + 3 * relu(2.5) + 1 = 8.5
    assert head(torch.tensor([[2.0], [-2.0]])).ravel().tolist() == [6.0, 8.5]


def pca_features() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    found = torch.randn(300, 8, generator=generator) @ torch.randn(8, 8, generator=generator) + 50
    found[:, 3] = 7.3
    return found


@pytest.mark.parametrize("standardise", [True, False])
def test_it_starts_as_the_projection_scikit_learn_finds(standardise: bool) -> None:
    given = pca_features()
    head = PcaHead(n_features=8, embedding_dim=3, standardise=standardise)
    head.fit(torch.split(given, 64))
    rows = given.double().numpy()
    if standardise:
        deviation = rows.std(0)
        rows = (rows - rows.mean(0)) / np.where(deviation < 1e-6, 1, deviation)
    expected = PCA(3).fit_transform(rows)
    found = head(given).detach().numpy()
    assert np.allclose(np.abs(found), np.abs(expected), atol=2e-4)


def test_a_value_by_hand_of_pca() -> None:
    # Mean (1, 5), deviations (1, 0): only the first axis says anything, and it points upwards.
    head = PcaHead(n_features=2, embedding_dim=1)
    head.fit([torch.tensor([[0.0, 5.0], [2.0, 5.0]])])
    assert head(torch.tensor([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]])).ravel().tolist() == pytest.approx([-1, 1, 3])


def test_more_axes_than_there_are_is_refused() -> None:
    with pytest.raises(InputError, match=r"pca\.embedding_dim must be in \[1, 8\], the width of the features; got 9"):
        PcaHead(n_features=8, embedding_dim=9)
    head = PcaHead(n_features=8, embedding_dim=5)
    with pytest.raises(InputError, match=r"pca\.embedding_dim must be below the number of training images, 4.*got 5"):
        head.fit([pca_features()[:4]])


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


def whitened_features() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(300, 8, generator=generator) @ torch.randn(8, 8, generator=generator) + 5


def test_with_power_1_it_starts_as_the_whitening_scikit_learn_finds() -> None:
    given = whitened_features()
    head = WhitenedHead(n_features=8, embedding_dim=3)
    head.fit(torch.split(given, 64))
    # scikit-learn divides by n - 1
    expected = PCA(3, whiten=True).fit_transform(given.double().numpy()) * np.sqrt(300 / 299)
    assert np.allclose(np.abs(head(given).detach().numpy()), np.abs(expected), atol=2e-4)


def test_with_power_0_it_is_pca_and_halfway_the_spread_is_its_root() -> None:
    given = whitened_features()
    plain = PcaHead(n_features=8, embedding_dim=3, standardise=False)
    none, half = (WhitenedHead(n_features=8, embedding_dim=3, power=power) for power in (0.0, 0.5))
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
        WhitenedHead(n_features=8, embedding_dim=5).fit([whitened_features()[:4]])
