from collections import Counter

import torch
from scipy import stats

from fairground.functional.random_choice import capped, distinct_below, fractions, marked_column, weighted_columns


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def fits(observed, chances):
    expected = torch.tensor(chances, dtype=torch.float64)
    expected = expected / expected.sum() * sum(observed)
    return stats.chisquare(observed, expected.numpy()).pvalue > 1e-3


def test_a_marked_column_is_drawn_evenly():
    mask = torch.tensor([False, True, True, False, True]).expand(30_000, 5)
    counts = torch.bincount(marked_column(mask, seeded()), minlength=5).tolist()
    assert counts[0] == counts[3] == 0
    assert fits([counts[1], counts[2], counts[4]], [1, 1, 1])


def test_a_row_without_marks_gives_some_column():
    assert 0 <= int(marked_column(torch.zeros(1, 4, dtype=torch.bool), seeded())) < 4


def test_weighted_columns_have_the_chances_of_their_weights():
    weights = torch.tensor([0.0, 1.0, 3.0, 0.0, 0.5, 0.0])
    for dtype in (torch.float32, torch.float64):
        drawn = weighted_columns(weights.to(dtype).expand(10_000, 6), 3, seeded())
        assert drawn.shape == (10_000, 3)
        counts = torch.bincount(drawn.flatten(), minlength=6).tolist()
        assert counts[0] == counts[3] == counts[5] == 0
        assert fits([counts[1], counts[2], counts[4]], [1, 3, 0.5])


def test_distinct_numbers_are_distinct_and_as_many_as_asked():
    totals = torch.tensor([0, 1, 5, 100, 7, 0, 10**10])
    row, rank = distinct_below(totals, 6, seeded())
    assert Counter(row.tolist()) == {1: 1, 2: 5, 3: 6, 4: 6, 6: 6}
    pairs = list(zip(row.tolist(), rank.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert all(0 <= k < int(totals[r]) for r, k in pairs)


def test_every_subset_is_equally_likely():
    for cap in (2, 3):
        # Six rows of five: pairs are drawn, triples are what a drawn pair leaves over.
        row, rank = distinct_below(torch.full((6000,), 5), cap, seeded(cap))
        subsets = Counter(map(tuple, rank.view(6000, cap).tolist()))
        assert row.tolist() == [i for i in range(6000) for _ in range(cap)]
        assert len(subsets) == 10
        assert fits(list(subsets.values()), [1] * 10)


def test_capped_keeps_some_of_each_group():
    group = torch.tensor([0, 0, 0, 2, 2, 3])
    for seed in range(10):
        kept = capped(group, 5, 2, seeded(seed))
        assert Counter(group[kept].tolist()) == {0: 2, 2: 2, 3: 1}
        assert kept.unique().numel() == kept.numel()


def test_fractions_come_from_the_generator():
    like = torch.zeros(1)
    assert torch.equal(fractions(4, like, seeded(2)), fractions(4, like, seeded(2)))
