"""The same tuples as pytorch-metric-learning 2.9, wherever the definitions coincide."""

import pytest
from pytorch_metric_learning import miners as peer

from fairground.miners.all_hard import AllHardMiner
from fairground.miners.all_semihard import AllSemihardMiner
from fairground.miners.all_tuples import AllTuplesMiner
from fairground.miners.easy_positive import EasyPositiveMiner
from fairground.miners.hardest import HardestMiner
from fairground.miners.multi_similarity import MultiSimilarityMiner
from tests.miners.oracle import pair_lists, random_batch, triplet_list

BATCHES = [random_batch(32, 16, 9, seed=seed) for seed in range(6)] + [random_batch(20, 3, 15, seed=7)]


def as_set(indices):
    return set(zip(*(part.tolist() for part in indices), strict=True))


@pytest.mark.parametrize(("embeddings", "labels"), BATCHES)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (AllTuplesMiner(), peer.TripletMarginMiner(margin=4, type_of_triplets="all")),
        (AllHardMiner(), peer.TripletMarginMiner(margin=0.2, type_of_triplets="hard")),
        (AllHardMiner(margin=0.2), peer.TripletMarginMiner(margin=0.2, type_of_triplets="all")),
        (AllSemihardMiner(margin=0.2), peer.TripletMarginMiner(margin=0.2, type_of_triplets="semihard")),
        (HardestMiner(), peer.BatchHardMiner()),
    ],
)
def test_triplets(embeddings, labels, ours, theirs):
    assert set(triplet_list(ours(embeddings, labels))) == as_set(theirs(embeddings, labels))


@pytest.mark.parametrize(("embeddings", "labels"), BATCHES)
@pytest.mark.parametrize("negative", ["semihard", "hard"])
def test_easy_positives(embeddings, labels, negative):
    anchor, positive, _, stranger = peer.BatchEasyHardMiner("easy", negative)(embeddings, labels)
    ours = EasyPositiveMiner(negative=negative)(embeddings, labels)
    assert set(triplet_list(ours)) == as_set((anchor, positive, stranger))


@pytest.mark.parametrize(("embeddings", "labels"), BATCHES)
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_multi_similarity_pairs(embeddings, labels, epsilon):
    a1, p, a2, n = peer.MultiSimilarityMiner(epsilon)(embeddings, labels)
    positive, negative = pair_lists(MultiSimilarityMiner(epsilon=epsilon)(embeddings, labels))
    assert set(positive) == as_set((a1, p))
    assert set(negative) == as_set((a2, n))
