"""Hierarchical: a batch from a few super-classes."""

import pytest
import torch

from fairground.samplers import HierarchicalSampler
from tests.samplers.splits import class_counts, draws, even_split

LABELS = even_split(n_classes=24, size=6)
SUPERS = LABELS // 6


@pytest.mark.parametrize("super_per_batch", [1, 2, 4])
def test_a_batch_is_shared_equally_by_super_classes_and_classes(super_per_batch):
    sampler = HierarchicalSampler(
        labels=LABELS, super_labels=SUPERS, batch_size=16, per_class=4, super_per_batch=super_per_batch
    )
    for batch in draws(sampler, 50):
        assert list(class_counts(SUPERS, batch).values()) == [16 // super_per_batch] * super_per_batch
        assert list(class_counts(LABELS, batch).values()) == [4] * 4
        assert len(set(batch)) == 16
    assert sampler.notes() == ()


def test_all_super_classes_are_equally_likely():
    sampler = HierarchicalSampler(labels=LABELS, super_labels=SUPERS, batch_size=4, per_class=2, super_per_batch=1)
    firsts = torch.bincount(SUPERS[torch.tensor(draws(sampler, 2_000))[:, 0]], minlength=4)
    assert (abs(firsts - 500) < 5 * 500**0.5).all()


def test_super_classes_with_few_classes_repeat_them_and_say_so():
    sampler = HierarchicalSampler(labels=LABELS, super_labels=(LABELS > 1).long(), batch_size=16, per_class=2)
    for batch in draws(sampler, 10):
        assert class_counts(LABELS > 1, batch) == {False: 8, True: 8}
    assert sampler.notes() == ("1 super-classes have fewer than 4 classes: some come up twice in a batch",)
