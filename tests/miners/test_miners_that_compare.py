"""Miners that take what a comparison of distances says: by hand, against loops, and with a cap."""

from collections import Counter

import pytest
import torch

from fairground.miners import AllHardMiner, AllSemihardMiner, AllTuplesMiner, EasyPositiveMiner, HardestMiner
from fairground.miners.multi_similarity import MultiSimilarityMiner
from tests.losses.fixtures import F8, F8B, X
from tests.miners.oracle import (
    all_triplets,
    assert_chances,
    distances_by_loop,
    evenly,
    negatives_of,
    pair_lists,
    positives_of,
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


def semihard_by_loop(embeddings, labels, margin):
    d = distances_by_loop(embeddings)
    return {(a, p, n) for a, p, n in all_triplets(labels) if d[a][p] < d[a][n] <= d[a][p] + margin}


def test_fixture_anchor():
    # d_0 = (0, .956, 1.900, 1.865, .914, .395, 1.145, 1.934): only row 6 is within .2 beyond the positive.
    mined = triplet_list(AllSemihardMiner(margin=0.2)(X, F8B))
    assert [t for t in mined if t[0] == 0] == [(0, 1, 6)]
    mined = triplet_list(AllSemihardMiner(margin=2)(X, F8B))
    assert [n for a, _, n in mined if a == 0] == [2, 3, 6, 7]


def test_a_cap_keeps_some_of_each_anchor():
    embeddings, labels = random_batch(25, 3, 4, seed=1)
    mined = triplet_list(AllSemihardMiner(margin=0.5, per_anchor_cap=3)(embeddings, labels, generator=seeded()))
    every = semihard_by_loop(embeddings, labels, 0.5)
    assert set(mined) <= every
    for anchor in range(25):
        n_there = sum(a == anchor for a, _, _ in every)
        assert sum(a == anchor for a, _, _ in mined) == min(3, n_there)


@pytest.mark.parametrize("cap", [1, 3, 8])
def test_a_cap_is_a_uniform_choice(cap):
    # Anchor 0 has 2 * 5 triplets: caps below and above half of them are drawn in two ways.
    generator = seeded(1)
    counts: Counter[int] = Counter()
    every = sorted(t for t in all_triplets(F8) if t[0] == 0)
    for _ in range(500):
        mined = triplet_list(AllTuplesMiner(per_anchor_cap=cap)(X, F8, generator=generator))
        counts.update(every.index(t) for t in mined if t[0] == 0)
    assert_chances(counts, evenly(range(len(every))))


def test_a_capped_batch_of_four_thousand_needs_no_list():
    labels = torch.arange(4096) // 2048
    mined = AllTuplesMiner(per_anchor_cap=3)(torch.zeros(4096, 2), labels, generator=seeded())
    assert mined.size == 3 * 4096


def easy_by_loop(embeddings, labels, is_semihard):
    d = distances_by_loop(embeddings)
    found = []
    for anchor in range(len(labels)):
        positives, negatives = positives_of(labels, anchor), negatives_of(labels, anchor)
        if not positives:
            continue
        nearest = min(positives, key=lambda p: d[anchor][p])
        if is_semihard:
            negatives = [n for n in negatives if d[anchor][n] > d[anchor][nearest]]
        if negatives:
            found.append((anchor, nearest, min(negatives, key=lambda n: d[anchor][n])))
    return found


def test_on_a_circle_of_easy_positive():
    # Angles 0, 20, 60 | 10, 90 degrees: from row 0 the nearest positive is at 20, the nearest stranger beyond it at 90.
    angles = torch.deg2rad(torch.tensor([0.0, 20.0, 60.0, 10.0, 90.0]))
    embeddings, labels = torch.stack([angles.cos(), angles.sin()], 1), torch.tensor([0, 0, 0, 1, 1])
    # Row 4 is 80 degrees from its positive and has no stranger beyond 90 degrees; row 3 has none beyond 80.
    assert triplet_list(EasyPositiveMiner()(embeddings, labels)) == [(0, 1, 4), (1, 0, 4), (2, 1, 3), (4, 3, 0)]
    hard = triplet_list(EasyPositiveMiner(negative="hard")(embeddings, labels))
    assert hard == [(0, 1, 3), (1, 0, 3), (2, 1, 4), (3, 4, 0), (4, 3, 2)]


def hardest_by_loop(embeddings, labels):
    d = distances_by_loop(embeddings)
    found = []
    for anchor in range(len(labels)):
        positives, negatives = positives_of(labels, anchor), negatives_of(labels, anchor)
        if positives and negatives:
            farthest = max(positives, key=lambda p: d[anchor][p])
            found.append((anchor, farthest, min(negatives, key=lambda n: d[anchor][n])))
    return found


def test_on_a_circle_of_hardest():
    # Angles 0, 10, 40 | 50, 90 degrees.
    angles = torch.deg2rad(torch.tensor([0.0, 10.0, 40.0, 50.0, 90.0]))
    mined = HardestMiner()(torch.stack([angles.cos(), angles.sin()], 1), torch.tensor([0, 0, 0, 1, 1]))
    assert triplet_list(mined) == [(0, 2, 3), (1, 2, 3), (2, 0, 3), (3, 4, 2), (4, 3, 2)]


def kept_by_loop(embeddings, labels, epsilon):
    s = [[1 - d * d / 2 for d in row] for row in distances_by_loop(embeddings)]
    positive, negative = [], []
    for i in range(len(labels)):
        friends, strangers = positives_of(labels, i), negatives_of(labels, i)
        if strangers:
            positive += [(i, j) for j in friends if s[i][j] - epsilon < max(s[i][k] for k in strangers)]
        if friends:
            negative += [(i, k) for k in strangers if s[i][k] + epsilon > min(s[i][j] for j in friends)]
    return positive, negative


def test_on_a_circle_of_multi_similarity():
    # Cosines from row 0: friend at 60 degrees .5; strangers at 50 and 90 degrees .643 and 0.
    angles = torch.deg2rad(torch.tensor([0.0, 60.0, 50.0, 90.0]))
    labels = torch.tensor([0, 0, 1, 2])
    embeddings = torch.stack([angles.cos(), angles.sin()], 1)
    positive, negative = pair_lists(MultiSimilarityMiner(epsilon=0.1)(embeddings, labels))
    assert (0, 1) in positive
    assert [pair for pair in negative if pair[0] == 0] == [(0, 2)]
    _, negative = pair_lists(MultiSimilarityMiner(epsilon=0.6)(embeddings, labels))
    assert [pair for pair in negative if pair[0] == 0] == [(0, 2), (0, 3)]


@pytest.mark.parametrize("epsilon", [-0.2, 0.0, 0.1, 0.7])
def test_agrees_with_a_loop_of_multi_similarity(epsilon):
    for embeddings, labels in [(X, F8), (X, F8B), random_batch(30, 4, 5)]:
        mined = pair_lists(MultiSimilarityMiner(epsilon=epsilon)(embeddings, labels))
        assert mined == kept_by_loop(embeddings, labels, epsilon)


def test_the_old_bug_mines_six_of_fourteen_positives_from_the_anchor_itself():
    miner = MultiSimilarityMiner(epsilon=0.4, self_positive_bug=True)
    positive, negative = pair_lists(miner(X, F8B))
    assert len(positive) == 14
    assert sum(i == j for i, j in positive) == 6
    assert negative == pair_lists(MultiSimilarityMiner(epsilon=0.4)(X, F8B))[1]
    assert miner.known_bugs() == ("multi_similarity.self_positive_bug: an anchor may be mined as its own positive",)
    assert MultiSimilarityMiner().known_bugs() == ()


def test_a_cap_holds_for_each_kind_of_pair():
    embeddings, labels = random_batch(30, 4, 4)
    mined = MultiSimilarityMiner(epsilon=2, per_anchor_cap=3)(embeddings, labels, generator=seeded())
    positive, negative = pair_lists(mined)
    assert set(Counter(i for i, _ in positive).values()) == {3}
    assert set(Counter(i for i, _ in negative).values()) == {3}
    every = kept_by_loop(embeddings, labels, 2)
    assert set(positive) <= set(every[0])
    assert set(negative) <= set(every[1])


AGAINST_LOOPS = [
    *((AllHardMiner(margin=margin), hard_by_loop, margin) for margin in (-0.3, 0.0, 0.2, 2.0)),
    *((AllSemihardMiner(margin=margin), semihard_by_loop, margin) for margin in (0.05, 0.2, 1.0)),
    *((EasyPositiveMiner(negative=kind), easy_by_loop, kind == "semihard") for kind in ("semihard", "hard")),
    (HardestMiner(), hardest_by_loop, None),
    (AllTuplesMiner(), lambda _, labels: all_triplets(labels), None),
]


@pytest.mark.parametrize(("miner", "by_loop", "setting"), AGAINST_LOOPS)
def test_agrees_with_a_loop(miner, by_loop, setting):
    drawn = [random_batch(25, 3, 4), random_batch(40, 5, 6), random_batch(12, 2, 9)]
    for embeddings, labels in [(X, F8), (X, F8B), *drawn]:
        mined = triplet_list(miner(embeddings, labels))
        assert sorted(mined) == sorted(by_loop(embeddings, labels, *([] if setting is None else [setting])))
