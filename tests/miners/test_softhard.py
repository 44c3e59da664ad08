import torch

from fairground.miners.softhard import SofthardMiner
from tests.losses.fixtures import F8B, X
from tests.miners.oracle import (
    assert_chances,
    distances_by_loop,
    draw_often,
    evenly,
    marginal,
    negatives_of,
    positives_of,
    random_batch,
)


def sets_by_loop(embeddings, labels, anchor):
    d = distances_by_loop(embeddings)[anchor]
    positives, negatives = positives_of(labels, anchor), negatives_of(labels, anchor)
    farthest = max(d[p] for p in positives)
    nearest = min(d[n] for n in negatives)
    hard_positives = [p for p in positives if d[p] > nearest] or positives
    return hard_positives, [n for n in negatives if d[n] < farthest] or negatives


def test_fixture_anchors():
    counts = draw_often(SofthardMiner(), X, F8B, 100)
    assert set(marginal(counts, 0, lambda t: t[2])) == {4, 5}
    assert set(marginal(counts, 0, lambda t: t[1])) == {1}
    assert set(marginal(counts, 6, lambda t: t[2])) == {0, 1, 2, 5}
    assert set(marginal(counts, 6, lambda t: t[1])) == {7}


def test_draws_evenly_from_both_hard_sets():
    embeddings, labels = random_batch(12, 3, 3, seed=2)
    counts = draw_often(SofthardMiner(), embeddings, labels, 600)
    for anchor in range(12):
        positives, negatives = sets_by_loop(embeddings, labels, anchor)
        assert_chances(marginal(counts, anchor, lambda t: t[1]), evenly(positives))
        assert_chances(marginal(counts, anchor, lambda t: t[2]), evenly(negatives))


def test_two_tight_classes_fall_back_to_all():
    embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.01], [1.0, 0.02], [0.0, 1.0], [0.01, 1.0], [0.02, 1.0]])
    counts = draw_often(SofthardMiner(), embeddings, torch.tensor([0, 0, 0, 1, 1, 1]), 100)
    assert set(marginal(counts, 0, lambda t: t[1])) == {1, 2}
    assert set(marginal(counts, 0, lambda t: t[2])) == {3, 4, 5}
