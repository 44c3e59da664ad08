import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize
from torch import Tensor, nn

from fairground.contracts import Images, Transform
from fairground.errors import InputError
from fairground.evaluation import pretrained_embeddings
from fairground.evaluation.embed import embed, embed_blocks
from fairground.loading.image_dataset import ImagesInMemory


class Plain(Transform):
    def train(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        raise AssertionError("evaluation never augments")

    def evaluate(self, images: Images, rows: np.ndarray, device: torch.device | None = None) -> Tensor:
        return images.take(rows).float()


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def forward(self, images: Tensor) -> Tensor:
        assert not self.training
        self.sizes.append(len(images))
        return images.mean((2, 3))


def pictures(n: int, side: int) -> ImagesInMemory:
    generator = np.random.default_rng(0)
    return ImagesInMemory(generator.integers(0, 255, (n, 1, side, side), dtype=np.uint8))


def test_large_images_go_through_the_network_a_few_at_a_time_in_order() -> None:
    model, images = Counting(), pictures(24, 512)
    rows = np.arange(23, -1, -1)
    found = embed(model, images, rows, Plain())
    assert model.sizes == [8, 8, 8]
    assert torch.allclose(found, images.take(rows).float().mean((2, 3)))
    assert model.training


def test_blocks_are_bounded_and_the_mode_comes_back_even_when_few_are_taken() -> None:
    model, images = Counting(), pictures(600, 4)
    blocks = embed_blocks(model, images, np.arange(600), Plain())
    assert len(next(iter(blocks))) == 512
    blocks.close()
    assert model.training
    assert torch.is_grad_enabled()


def test_slow_images_are_read_a_block_ahead_and_give_the_same_embeddings() -> None:
    class Slow(ImagesInMemory):
        is_slow = True

    quick = pictures(300, 4)
    slow = Slow(quick.take(np.arange(300)).numpy())
    rows = np.arange(299, -1, -1)
    model = Counting()
    assert torch.equal(embed(model, slow, rows, Plain()), embed(Counting(), quick, rows, Plain()))
    assert model.sizes == [128, 128, 44]
    assert list(embed_blocks(model, slow, rows[:0], Plain())) == []
    blocks = embed_blocks(model, slow, rows, Plain())
    next(iter(blocks))
    blocks.close()
    assert model.training


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
