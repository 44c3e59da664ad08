"""Draws are uniform, without repeats, and the generator's alone."""

from collections import Counter
from itertools import permutations

import pytest
import torch

from fairground.samplers._class_draws import draw_distinct, draw_distinct_rows, draw_subsets, mark_repeats
from tests.samplers.splits import seeded


def close_to_uniform(counts, outcomes, n_draws):
    """Every outcome within five standard deviations of its share; the seeds are fixed, so this never flickers."""
    share = n_draws / len(outcomes)
    return set(counts) <= set(outcomes) and all(abs(counts[o] - share) < 5 * share**0.5 for o in outcomes)


def test_every_ordered_choice_is_equally_likely_when_everything_is_shuffled():
    rows = draw_distinct_rows(4, 2, 12_000, seeded())
    assert close_to_uniform(Counter(map(tuple, rows.tolist())), list(permutations(range(4), 2)), 12_000)


def test_every_ordered_choice_is_equally_likely_when_repeats_are_drawn_anew(monkeypatch):
    monkeypatch.setattr("fairground.samplers._class_draws._SHUFFLE_WITHIN", 0)
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


@pytest.mark.parametrize(("n", "k"), [(5, 5), (100, 7), (100_000, 56), (3, 0)])
def test_distinct_numbers_are_distinct(n, k):
    drawn = draw_distinct(n, k, seeded()).tolist()
    assert len(drawn) == len(set(drawn)) == k
    assert all(0 <= number < n for number in drawn)
    for row in draw_distinct_rows(n, k, 50, seeded()).tolist():
        assert len(set(row)) == k


def test_repeats_are_marked_from_the_second_on():
    marks = mark_repeats(torch.tensor([[3, 1, 3, 3, 1], [1, 2, 3, 4, 5]]))
    assert marks.tolist() == [[False, False, True, True, True], [False] * 5]
