import numpy as np
import pytest
import torch

from fairground.datasets import SyntheticDataset


def counts(**settings):
    return np.bincount(SyntheticDataset(**settings).load().labels).tolist()


def test_it_gives_the_images_that_were_asked_for():
    table = SyntheticDataset(n_classes=5, per_class=3, size=16, channels=3).load()
    images = table.images.take(np.arange(15))
    assert images.dtype == torch.uint8
    assert images.shape == (15, 3, 16, 16)
    assert table.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert table.class_names[:2] == ("class-0000", "class-0001")
    assert table.official_test.tolist() == [False] * 9 + [True] * 6


def test_the_seed_decides_everything():
    first, again, other = (SyntheticDataset(seed=seed).load().images.fingerprint() for seed in (1, 1, 2))
    assert first == again != other


def test_without_noise_and_shift_the_images_of_a_class_are_one_pattern():
    table = SyntheticDataset(n_classes=2, per_class=4, noise=0, shift=0).load()
    images = table.images.take(np.arange(8)).float()
    assert (images[:4] == images[0]).all()
    assert (images[4:] == images[4]).all()
    # 128 + 64 * a pattern of mean 0 and deviation 1, less what clipping takes.
    assert images[0].mean().item() == pytest.approx(128, abs=2)
    assert images[0].std().item() == pytest.approx(64, abs=4)


def test_imbalance_is_the_ratio_of_the_largest_to_the_smallest_class_of_each_half():
    assert counts(n_classes=6, per_class=16, imbalance=16) == [16, 4, 1, 16, 4, 1]
    assert counts(n_classes=4, per_class=5) == [5, 5, 5, 5]
