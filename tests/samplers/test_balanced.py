"""Balanced: every class equally often, every image visited."""

import pytest
import torch

from fairground.samplers import BalancedSampler
from tests.samplers.splits import class_counts, draws, even_split, seeded, uneven_split


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


def test_even_classes_are_visited_exactly_once():
    labels = even_split(12, 8)
    sampler = BalancedSampler(labels=labels, batch_size=16, per_class=4)
    assert sampler.n_batches == 6
    assert sorted(row for batch in draws(sampler, 6) for row in batch) == list(range(96))


def test_images_of_a_class_meet_different_ones_in_the_next_epoch():
    sampler = BalancedSampler(labels=even_split(4, 20), batch_size=8, per_class=2)
    generator = seeded()
    epochs = []
    for _ in range(2):
        sampler.start_epoch(generator)
        rows = torch.stack([sampler.draw(generator) for _ in range(sampler.n_batches)])
        epochs.append({frozenset(pair) for pair in rows.view(-1, 2).tolist()})
    assert len(epochs[0] & epochs[1]) < 10


def test_small_classes_are_told():
    assert BalancedSampler(labels=uneven_split(), batch_size=16).notes()[0].startswith("3 of 10 classes")
