"""m-per-class: clean batches, and batches cut from a list of passes."""

import torch

from fairground.samplers import MPerClassSampler
from tests.samplers.splits import class_counts, draws, even_split


def test_clean_batches_never_hold_a_class_twice():
    labels = even_split(n_classes=10, size=9)
    for batch in draws(MPerClassSampler(labels=labels, batch_size=32, per_class=4), 50):
        assert list(class_counts(labels, batch).values()) == [4] * 8
        assert len(set(batch)) == 32


def test_the_list_goes_through_all_classes_before_any_comes_again():
    labels = even_split(n_classes=10, size=9)
    sampler = MPerClassSampler(labels=labels, batch_size=16, per_class=4, straddle=True, list_length=400)
    # Ten passes of ten classes with four images each make 400 entries, cut into 25 batches.
    entries = torch.tensor(draws(sampler, 25)).flatten()
    for one_pass in entries.view(10, 40):
        assert class_counts(labels, one_pass) == dict.fromkeys(range(10), 4)
        assert len(set(one_pass.tolist())) == 40
        groups = labels[one_pass].view(10, 4)
        assert (groups == groups[:, :1]).all()


def test_a_straddling_batch_may_hold_a_class_twice():
    labels = even_split(n_classes=10, size=9)
    sampler = MPerClassSampler(labels=labels, batch_size=32, per_class=4, straddle=True)
    most = [max(class_counts(labels, batch).values()) for batch in draws(sampler, 50)]
    assert set(most) == {4, 8}


def test_one_image_a_class_in_a_large_batch_covers_three_to_four_passes():
    # 256 over 75 classes.
    labels = even_split(n_classes=75, size=10)
    sampler = MPerClassSampler(labels=labels, batch_size=256, per_class=1, straddle=True)
    for batch in draws(sampler, 20):
        counts = class_counts(labels, batch).values()
        assert len(counts) == 75
        assert min(counts) >= 2
        assert max(counts) <= 5
