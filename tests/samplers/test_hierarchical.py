"""Hierarchical: a batch from a few super-classes."""

import pytest
import torch

from fairground.errors import DataError, InputError
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


def test_refusals():
    with pytest.raises(DataError, match="sampler hierarchical needs super-classes, and the data set has none"):
        HierarchicalSampler(labels=LABELS, super_labels=None, batch_size=16)
    with pytest.raises(DataError, match="one super-class per image; got 3 for 144 images"):
        HierarchicalSampler(labels=LABELS, super_labels=SUPERS[:3], batch_size=16)
    with pytest.raises(DataError, match="images are in another super-class than their class"):
        HierarchicalSampler(labels=LABELS, super_labels=torch.arange(144) % 2, batch_size=16)
    with pytest.raises(InputError, match=r"sampler\.super_per_batch must divide the 4 classes of a batch; got 3"):
        HierarchicalSampler(labels=LABELS, super_labels=SUPERS, batch_size=16, super_per_batch=3)
    with pytest.raises(DataError, match="must be at most the number of super-classes, 4; got 8"):
        HierarchicalSampler(labels=LABELS, super_labels=SUPERS, batch_size=16, per_class=2, super_per_batch=8)
