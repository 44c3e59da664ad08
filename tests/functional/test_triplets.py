import torch

from fairground.functional.triplets import classmates, negative_at, positive_at, triplet_at
from tests.losses.fixtures import F8
from tests.miners.oracle import all_triplets, negatives_of, positives_of, triplet_list


def test_numbers_run_through_positives_and_negatives():
    labels = torch.tensor([4, 1, 4, 9, 1, 4])
    batch = classmates(labels)
    for anchor in range(6):
        positives, negatives = positives_of(labels, anchor), negatives_of(labels, anchor)
        assert int(batch.n_positives[anchor]) == len(positives)
        assert int(batch.n_negatives[anchor]) == len(negatives)
        each = torch.arange(len(positives))
        assert sorted(positive_at(batch, torch.full_like(each, anchor), each).tolist()) == positives
        each = torch.arange(len(negatives))
        assert sorted(negative_at(batch, torch.full_like(each, anchor), each).tolist()) == negatives


def test_numbers_run_through_all_triplets():
    batch = classmates(F8)
    found = set()
    for anchor in range(8):
        each = torch.arange(int(batch.n_triplets[anchor]))
        found |= set(triplet_list(triplet_at(batch, torch.full_like(each, anchor), each)))
    assert found == all_triplets(F8)
