"""SPC-n: n images of each of b/n classes."""

import pytest
import torch

from fairground.errors import DataError
from fairground.samplers import PerClassSampler
from tests.samplers.splits import class_counts, draws, even_split, uneven_split


def test_classes_and_images_are_equally_likely():
    labels = uneven_split(sizes=(4, 8, 16, 32))
    sampler = PerClassSampler(labels=labels, batch_size=4, per_class=2)
    counts = torch.bincount(torch.tensor(draws(sampler, 4_000)).flatten(), minlength=len(labels)).double()
    for c, size in enumerate((4, 8, 16, 32)):
        # Each class is in half of the batches with 2 images, whatever its size.
        expected = 4_000 / size
        assert (abs(counts[labels == c] - expected) < 5 * expected**0.5).all()


def test_with_replacement_classes_repeat_as_the_card_says():
    # 100 classes, 56 draws: 100 (1 - 0.99^56) = 43 different ones expected.
    labels = even_split(n_classes=100, size=58)
    sampler = PerClassSampler(labels=labels, batch_size=112, per_class=2, replace_classes=True, replace_samples=True)
    batches = draws(sampler, 400)
    n_classes = sum(len(class_counts(labels, batch)) for batch in batches) / 400
    assert n_classes == pytest.approx(100 * (1 - 0.99**56), abs=0.5)
    pairs = torch.tensor(batches).view(-1, 2)
    assert (pairs[:, 0] == pairs[:, 1]).double().mean().item() == pytest.approx(1 / 58, abs=0.005)


def test_small_classes_are_filled_up_and_told():
    labels = uneven_split(sizes=(1, 2, 3, 10))
    sampler = PerClassSampler(labels=labels, batch_size=16)
    for batch in draws(sampler, 20):
        assert class_counts(labels, batch) == dict.fromkeys(range(4), 4)
        different = torch.tensor(sorted(set(batch)))
        assert class_counts(labels, different) == {0: 1, 1: 2, 2: 3, 3: 4}
    (note,) = sampler.notes()
    assert note == (
        "3 of 4 classes have fewer than 4 images (the smallest has 1): each is filled up to 4 with repeats of its own "
        "images"
    )


def test_an_epoch_is_as_many_batches_as_fit():
    assert PerClassSampler(labels=even_split(100, 58), batch_size=112, per_class=2).n_batches == 5800 // 112
    assert PerClassSampler(labels=even_split(4, 2), batch_size=8, per_class=2).n_batches == 1


def test_a_batch_larger_than_the_split_is_told_how_to_repeat_images():
    labels = torch.arange(420) // 4
    refusal = r"Set training\.batch_size=420, or sampler\.per_class=1024 for 64 classes with more images of each"
    with pytest.raises(DataError, match=refusal):
        PerClassSampler(labels=labels, batch_size=65_536, per_class=4)
    sampler = PerClassSampler(labels=labels, batch_size=65_536, per_class=1024)
    rows = sampler.draw(torch.Generator().manual_seed(0))
    assert labels[rows].unique(return_counts=True)[1].tolist() == [1024] * 64
    assert len(rows.unique()) == 4 * 64
