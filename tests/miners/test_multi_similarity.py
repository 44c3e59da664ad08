from collections import Counter

import pytest
import torch

from fairground.miners.multi_similarity import MultiSimilarityMiner
from tests.losses.fixtures import F8, F8B, X
from tests.miners.oracle import distances_by_loop, negatives_of, pair_lists, positives_of, random_batch, seeded


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


def test_on_a_circle():
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
def test_agrees_with_a_loop(epsilon):
    for embeddings, labels in [(X, F8), (X, F8B), random_batch(30, 4, 5)]:
        assert pair_lists(MultiSimilarityMiner(epsilon=epsilon)(embeddings, labels)) == kept_by_loop(
            embeddings, labels, epsilon
        )


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
    positive, negative = pair_lists(
        MultiSimilarityMiner(epsilon=2, per_anchor_cap=3)(embeddings, labels, generator=seeded())
    )
    assert set(Counter(i for i, _ in positive).values()) == {3}
    assert set(Counter(i for i, _ in negative).values()) == {3}
    every = kept_by_loop(embeddings, labels, 2)
    assert set(positive) <= set(every[0])
    assert set(negative) <= set(every[1])
