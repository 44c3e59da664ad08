import numpy as np
import torch
from torch import Tensor, nn

from fairground.contracts.model import Transform
from fairground.contracts.table import Images
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
