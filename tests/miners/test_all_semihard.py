import pytest

from fairground.miners.all_semihard import AllSemihardMiner
from tests.losses.fixtures import F8, F8B, X
from tests.miners.oracle import all_triplets, distances_by_loop, random_batch, seeded, triplet_list


def semihard_by_loop(embeddings, labels, margin):
    d = distances_by_loop(embeddings)
    return {(a, p, n) for a, p, n in all_triplets(labels) if d[a][p] < d[a][n] <= d[a][p] + margin}


def test_fixture_anchor():
    # d_0 = (0, .956, 1.900, 1.865, .914, .395, 1.145, 1.934): only row 6 is within .2 beyond the positive.
    mined = triplet_list(AllSemihardMiner(margin=0.2)(X, F8B))
    assert [t for t in mined if t[0] == 0] == [(0, 1, 6)]
    mined = triplet_list(AllSemihardMiner(margin=2)(X, F8B))
    assert [n for a, _, n in mined if a == 0] == [2, 3, 6, 7]


@pytest.mark.parametrize("margin", [0.05, 0.2, 1.0])
def test_agrees_with_a_loop(margin):
    for embeddings, labels in [(X, F8), random_batch(25, 3, 4, seed=1)]:
        mined = triplet_list(AllSemihardMiner(margin=margin)(embeddings, labels))
        assert len(set(mined)) == len(mined)
        assert set(mined) == semihard_by_loop(embeddings, labels, margin)


def test_a_cap_keeps_some_of_each_anchor():
    embeddings, labels = random_batch(25, 3, 4, seed=1)
    mined = triplet_list(AllSemihardMiner(margin=0.5, per_anchor_cap=3)(embeddings, labels, generator=seeded()))
    every = semihard_by_loop(embeddings, labels, 0.5)
    assert set(mined) <= every
    for anchor in range(25):
        n_there = sum(a == anchor for a, _, _ in every)
        assert sum(a == anchor for a, _, _ in mined) == min(3, n_there)
