"""Draws of rows by class: the right ones, without repeats, each as often as it should be."""

from collections import Counter
from itertools import permutations

import pytest
import torch

from fairground.errors import DataError
from fairground.samplers._class_draws import ClassRows, draw_distinct_rows, draw_subsets
from tests.samplers.splits import candidates_of, class_counts, even_split, seeded


def test_partners_differ_from_all_picks_and_from_each_other_while_there_are_enough():
    labels = torch.tensor([0] * 8 + [1] * 3 + [2])
    classes = ClassRows(labels)
    picks = torch.tensor([0, 8, 5, 11])
    for seed in range(50):
        partners = classes.draw_partners(picks, 2, seeded(seed)).tolist()
        of_zero = [*partners[0], *partners[2], 0, 5]
        assert len(set(of_zero)) == 6
        assert set(of_zero) <= set(range(8))
        assert set(partners[1]) == {9, 10}
        assert partners[3] == [11, 11]


def test_partners_are_uniform_over_the_rest_of_the_class():
    classes = ClassRows(torch.tensor([0] * 5 + [1] * 4))
    generator = seeded()
    counts = Counter(classes.draw_partners(torch.tensor([2, 6]), 1, generator)[0, 0].item() for _ in range(1_200))
    assert set(counts) == {0, 1, 3, 4}
    assert all(abs(count - 300) < 5 * 225**0.5 for count in counts.values())


@pytest.mark.parametrize("pool", [8, 20, 40, 48, 100])
def test_without_replacement_classes_are_even_and_rows_differ(pool):
    labels = even_split(n_classes=20, size=30)
    for seed in range(5):
        rows, batches = candidates_of(labels, pool=pool, n_slots=4, per_class=2, n=5, seed=seed)
        assert len(set(rows.tolist())) == len(rows) == pool
        counts = class_counts(labels, rows)
        assert max(counts.values()) - min(counts.get(c, 0) for c in range(20)) <= 2
        for batch in batches:
            assert list(class_counts(labels, rows[batch]).values()) == [2, 2, 2, 2]
            assert len(set(batch.tolist())) == 8


def close_to_uniform(counts, outcomes, n_draws):
    """Every outcome within five standard deviations of its share; the seeds are fixed, so this never flickers."""
    share = n_draws / len(outcomes)
    return set(counts) <= set(outcomes) and all(abs(counts[o] - share) < 5 * share**0.5 for o in outcomes)


@pytest.mark.parametrize("shuffled_within", [None, 0])
def test_every_ordered_choice_is_equally_likely_by_shuffling_and_by_drawing_repeats_anew(shuffled_within, monkeypatch):
    if shuffled_within is not None:
        monkeypatch.setattr("fairground.samplers._class_draws._SHUFFLE_WITHIN", shuffled_within)
    rows = draw_distinct_rows(4, 3, 24_000, seeded())
    assert close_to_uniform(Counter(map(tuple, rows.tolist())), list(permutations(range(4), 3)), 24_000)


@pytest.mark.parametrize("many", [0, 16])
def test_every_ordered_subset_is_equally_likely(many, monkeypatch):
    monkeypatch.setattr("fairground.samplers._class_draws._MANY", many)
    rows = draw_subsets(torch.full((24_000,), 4), 3, seeded())
    assert close_to_uniform(Counter(map(tuple, rows.tolist())), list(permutations(range(4), 3)), 24_000)


@pytest.mark.parametrize("many", [0, 16])
def test_too_few_give_all_there_are_and_then_repeats(many, monkeypatch):
    monkeypatch.setattr("fairground.samplers._class_draws._MANY", many)
    limits = torch.tensor([1, 2, 3, 4, 5, 50])
    for seed in range(20):
        rows = draw_subsets(limits, 4, seeded(seed)).tolist()
        assert [len(set(row)) for row in rows] == [1, 2, 3, 4, 4, 4]
        assert all(0 <= number < limit for row, limit in zip(rows, limits.tolist(), strict=True) for number in row)


@pytest.mark.parametrize("labels", [torch.empty(0, dtype=torch.long), torch.zeros(3), torch.zeros(2, 2).long()])
def test_what_is_not_one_whole_number_an_image_is_refused(labels):
    with pytest.raises(DataError, match="a sampler takes one integer label per training image; got"):
        ClassRows(labels)
