from collections import Counter

import pytest
import torch

from fairground.miners.all_hard import AllHardMiner
from tests.losses.fixtures import F8, X
from tests.miners.oracle import (
    all_triplets,
    assert_chances,
    distances_by_loop,
    evenly,
    random_batch,
    seeded,
    triplet_list,
)


def hard_by_loop(embeddings, labels, margin):
    d = distances_by_loop(embeddings)
    return {(a, p, n) for a, p, n in all_triplets(labels) if d[a][n] <= d[a][p] + margin}


def test_on_a_line_only_the_nearer_stranger_is_hard():
    # Angles 0, 60 | 30, 90 degrees: from row 0 the stranger at 30 is nearer than the friend at 60, that at 90 is not.
    angles = torch.deg2rad(torch.tensor([0.0, 60.0, 30.0, 90.0]))
    mined = AllHardMiner()(torch.stack([angles.cos(), angles.sin()], 1), torch.tensor([0, 0, 1, 1]))
    assert set(triplet_list(mined)) == {(0, 1, 2), (1, 0, 2), (1, 0, 3), (2, 3, 0), (2, 3, 1), (3, 2, 1)}


@pytest.mark.parametrize("margin", [-0.3, 0.0, 0.2, 2.0])
def test_agrees_with_a_loop(margin):
    for embeddings, labels in [(X, F8), random_batch(25, 3, 4)]:
        mined = triplet_list(AllHardMiner(margin=margin)(embeddings, labels))
        assert len(set(mined)) == len(mined)
        assert set(mined) == hard_by_loop(embeddings, labels, margin)


def test_blocks_make_no_difference(monkeypatch):
    embeddings, labels = random_batch(40, 3, 5)
    whole = triplet_list(AllHardMiner()(embeddings, labels))
    monkeypatch.setattr("fairground.functional.triplets.BLOCK", 500)
    assert triplet_list(AllHardMiner()(embeddings, labels)) == whole
    monkeypatch.setattr("fairground.functional.triplets.BLOCK", 1)
    assert triplet_list(AllHardMiner()(embeddings, labels)) == whole


def test_a_cap_is_a_uniform_choice_for_each_anchor():
    every = hard_by_loop(X, F8, 0.5)
    have = Counter(a for a, _, _ in every)
    generator = seeded()
    counts: Counter[int] = Counter()
    of_anchor = sorted(t for t in every if t[0] == 1)
    assert len(of_anchor) > 3
    for _ in range(300):
        mined = triplet_list(AllHardMiner(margin=0.5, per_anchor_cap=2)(X, F8, generator=generator))
        assert set(mined) <= every
        assert Counter(a for a, _, _ in mined) == {a: min(2, count) for a, count in have.items()}
        counts.update(of_anchor.index(t) for t in mined if t[0] == 1)
    assert_chances(counts, evenly(range(len(of_anchor))))
