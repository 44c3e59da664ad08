import pytest
import torch

from fairground.miners.easy_positive import EasyPositiveMiner
from tests.losses.fixtures import F8, X
from tests.miners.oracle import distances_by_loop, negatives_of, positives_of, random_batch, triplet_list


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


def test_on_a_circle():
    # Angles 0, 20, 60 | 10, 90 degrees: from row 0 the nearest positive is at 20, the nearest stranger beyond it at 90.
    angles = torch.deg2rad(torch.tensor([0.0, 20.0, 60.0, 10.0, 90.0]))
    embeddings, labels = torch.stack([angles.cos(), angles.sin()], 1), torch.tensor([0, 0, 0, 1, 1])
    # Row 4 is 80 degrees from its positive and has no stranger beyond 90 degrees; row 3 has none beyond 80.
    assert triplet_list(EasyPositiveMiner()(embeddings, labels)) == [
        (0, 1, 4),
        (1, 0, 4),
        (2, 1, 3),
        (4, 3, 0),
    ]
    assert triplet_list(EasyPositiveMiner(negative="hard")(embeddings, labels)) == [
        (0, 1, 3),
        (1, 0, 3),
        (2, 1, 4),
        (3, 4, 0),
        (4, 3, 2),
    ]


@pytest.mark.parametrize("negative", ["semihard", "hard"])
def test_agrees_with_a_loop(negative):
    for embeddings, labels in [(X, F8), random_batch(40, 5, 6), random_batch(12, 2, 9)]:
        mined = triplet_list(EasyPositiveMiner(negative=negative)(embeddings, labels))
        assert mined == easy_by_loop(embeddings, labels, negative == "semihard")
