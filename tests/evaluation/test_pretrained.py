import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize

from fairground.errors import InputError
from fairground.evaluation.embed import pretrained_embeddings


@pytest.mark.parametrize("standardise", [True, False])
def test_as_mlrc_did_with_scikit_learn_in_the_place_of_faiss(standardise: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(200, 12, generator=generator) @ torch.randn(12, 12, generator=generator) + 3
    rows = features.double().numpy()
    expected = normalize(PCA(5).fit_transform(StandardScaler().fit_transform(rows) if standardise else rows))
    found = pretrained_embeddings(features, dim=5, standardise=standardise).numpy()
    assert np.allclose(np.abs(found), np.abs(expected), atol=1e-4)
    assert np.allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_more_axes_than_points_are_refused() -> None:
    with pytest.raises(InputError, match="4 features of width 12 have 3 principal axes; 5 were asked for"):
        pretrained_embeddings(torch.zeros(4, 12), dim=5)
