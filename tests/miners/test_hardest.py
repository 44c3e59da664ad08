import torch

from fairground.miners.hardest import HardestMiner
from tests.losses.fixtures import F8, X
from tests.miners.oracle import distances_by_loop, negatives_of, positives_of, random_batch, triplet_list


def hardest_by_loop(embeddings, labels):
    d = distances_by_loop(embeddings)
    found = []
    for anchor in range(len(labels)):
        positives, negatives = positives_of(labels, anchor), negatives_of(labels, anchor)
        if positives and negatives:
            farthest = max(positives, key=lambda p: d[anchor][p])
            found.append((anchor, farthest, min(negatives, key=lambda n: d[anchor][n])))
    return found


def test_on_a_circle():
    # Angles 0, 10, 40 | 50, 90 degrees.
    angles = torch.deg2rad(torch.tensor([0.0, 10.0, 40.0, 50.0, 90.0]))
    mined = HardestMiner()(torch.stack([angles.cos(), angles.sin()], 1), torch.tensor([0, 0, 0, 1, 1]))
    assert triplet_list(mined) == [(0, 2, 3), (1, 2, 3), (2, 0, 3), (3, 4, 2), (4, 3, 2)]


def test_agrees_with_a_loop():
    for embeddings, labels in [(X, F8), random_batch(40, 5, 6), random_batch(12, 2, 9)]:
        assert triplet_list(HardestMiner()(embeddings, labels)) == hardest_by_loop(embeddings, labels)
