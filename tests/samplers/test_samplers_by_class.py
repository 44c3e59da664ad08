"""Samplers that look at labels only: what a batch holds, and how likely."""

import pytest
import torch

from fairground.errors import DataError
from fairground.samplers import BalancedSampler, HierarchicalSampler, MPerClassSampler, PerClassRandomSampler
from fairground.samplers.per_class import PerClassSampler
from fairground.samplers.uniform import UniformSampler
from tests.samplers.splits import class_counts, draws, even_split, seeded, uneven_split


def test_an_epoch_visits_every_image_at_most_once_and_what_is_left_out_changes():
    sampler = UniformSampler(labels=even_split(5, 10), batch_size=8)
    assert sampler.n_batches == 6
    epochs = [[row for batch in draws(sampler, 6, seed) for row in batch] for seed in range(5)]
    assert {(len(rows), len(set(rows))) for rows in epochs} == {(48, 48)}
    assert len({frozenset(range(50)) - set(rows) for rows in epochs}) == 5


def test_with_replacement_every_image_is_equally_likely():
    sampler = UniformSampler(labels=torch.zeros(4, dtype=torch.long), batch_size=10, replace=True)
    counts = torch.bincount(torch.tensor(draws(sampler, 1_000)).flatten())
    assert (abs(counts - 2_500) < 5 * 2_500**0.5).all()


@pytest.mark.parametrize("labels", [even_split(20, 10), even_split(13, 7), uneven_split()])
@pytest.mark.parametrize("per_class", [1, 2, 3])
def test_an_epoch_visits_every_image_and_no_batch_has_a_class_twice(labels, per_class):
    sampler = BalancedSampler(labels=labels, batch_size=8 * per_class, per_class=per_class)
    for seed in range(3):
        batches = draws(sampler, sampler.n_batches, seed)
        assert {row for batch in batches for row in batch} == set(range(len(labels)))
        for batch in batches:
            assert list(class_counts(labels, batch).values()) == [per_class] * 8


def test_classes_come_equally_often_whatever_their_size():
    labels = uneven_split()
    sampler = BalancedSampler(labels=labels, batch_size=16, per_class=2)
    # The largest class has 34 images: 17 rounds of ten classes, 170 groups, in batches of eight.
    assert sampler.n_batches == 22
    counts = class_counts(labels, torch.tensor(draws(sampler, 22)).flatten())
    assert max(counts.values()) - min(counts.values()) <= 2


def test_images_of_a_class_meet_different_ones_in_the_next_epoch():
    sampler = BalancedSampler(labels=even_split(4, 20), batch_size=8, per_class=2)
    generator = seeded()
    epochs = []
    for _ in range(2):
        sampler.start_epoch(generator)
        rows = torch.stack([sampler.draw(generator) for _ in range(sampler.n_batches)])
        epochs.append({frozenset(pair) for pair in rows.view(-1, 2).tolist()})
    assert len(epochs[0] & epochs[1]) < 10


LABELS = even_split(n_classes=24, size=6)
SUPERS = LABELS // 6


@pytest.mark.parametrize("super_per_batch", [1, 2, 4])
def test_a_batch_is_shared_equally_by_super_classes_and_classes(super_per_batch):
    shared = {"per_class": 4, "super_per_batch": super_per_batch}
    sampler = HierarchicalSampler(labels=LABELS, super_labels=SUPERS, batch_size=16, **shared)
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
    assert note.startswith("3 of 4 classes have fewer than 4 images (the smallest has 1): each is filled up to 4 with ")


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


@pytest.mark.parametrize("uniform_over", ["samples", "classes"])
def test_the_last_image_has_a_partner_of_its_class(uniform_over):
    labels = even_split(n_classes=200, size=3)
    for batch in draws(PerClassRandomSampler(labels=labels, batch_size=9, uniform_over=uniform_over), 200):
        partners = [row for row in batch[:-1] if labels[row] == labels[batch[-1]]]
        assert partners
        assert any(row != batch[-1] for row in partners)
        if uniform_over == "samples":
            assert len(set(batch[:-1])) == 8


def test_the_two_forms_differ_in_what_is_equally_likely():
    labels = uneven_split(sizes=(10, 90))
    for uniform_over, share in (("samples", 0.1), ("classes", 0.5)):
        sampler = PerClassRandomSampler(labels=labels, batch_size=11, uniform_over=uniform_over)
        rows = torch.tensor(draws(sampler, 1_000))[:, :-1]
        assert (labels[rows] == 0).double().mean().item() == pytest.approx(share, abs=0.025)


def test_partners_are_uniform_over_the_others_of_the_class():
    labels = torch.zeros(4, dtype=torch.long)
    batches = torch.tensor(draws(PerClassRandomSampler(labels=labels, batch_size=2), 6_000))
    counts = torch.zeros(4, 4).index_put_((batches[:, 0], batches[:, 1]), torch.ones(6_000), accumulate=True)
    assert counts.diagonal().sum() == 0
    off_diagonal = counts[~torch.eye(4, dtype=torch.bool)]
    assert (abs(off_diagonal - 500) < 5 * 500**0.5).all()


def test_a_lone_image_is_its_own_partner_and_told():
    sampler = PerClassRandomSampler(labels=torch.arange(5), batch_size=3)
    for batch in draws(sampler, 10):
        assert batch[2] in batch[:2]
    assert sampler.notes() == ("5 classes have one image, which is its own partner when chosen",)
    assert PerClassRandomSampler(labels=even_split(), batch_size=3).notes() == ()
