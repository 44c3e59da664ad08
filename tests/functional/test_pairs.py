import torch

from fairground.contracts.tuples import Pairs, Triplets
from fairground.functional.pairs import one_random_positive, pair_masks, pair_weights

LABELS = torch.tensor([4, 1, 4, 4, 9])


def test_masks_are_the_equality_of_labels_without_the_diagonal():
    positive, negative = pair_masks(LABELS)
    for i, one in enumerate(LABELS.tolist()):
        for j, other in enumerate(LABELS.tolist()):
            assert bool(positive[i, j]) == (one == other and i != j)
            assert bool(negative[i, j]) == (one != other)


def test_without_a_miner_every_pair_weighs_1():
    embeddings = torch.zeros(5, 2, dtype=torch.float64)
    weights = pair_weights(embeddings, LABELS, None)
    for ours, mask in zip(weights, pair_masks(LABELS), strict=True):
        assert ours.dtype == torch.float64
        assert torch.equal(ours, mask.double())


def test_mined_pairs_weigh_1_or_as_often_as_they_were_chosen():
    triplets = Triplets(*(torch.tensor(index) for index in ([0, 0, 2], [2, 2, 3], [1, 1, 4])))
    once, counted = (pair_weights(torch.zeros(5, 2), LABELS, triplets, repeats=repeats) for repeats in (False, True))
    assert once.positive.nonzero().tolist() == counted.positive.nonzero().tolist() == [[0, 2], [2, 3]]
    assert (once.positive[0, 2], counted.positive[0, 2], counted.positive[2, 3]) == (1, 2, 1)
    assert (once.negative[0, 1], counted.negative[0, 1], counted.negative[2, 4]) == (1, 2, 1)
    nothing = torch.empty(0, dtype=torch.long)
    empty = pair_weights(torch.zeros(5, 2), LABELS, Pairs(nothing, nothing, nothing, nothing))
    assert not any(weights.any() for weights in empty)


def test_one_random_positive_for_each_anchor_that_has_any():
    pairs = pair_weights(torch.zeros(5, 2), LABELS, None)
    generator = torch.Generator().manual_seed(0)
    seen = torch.zeros(5, 5)
    for _ in range(60):
        chosen = one_random_positive(pairs, generator)
        assert chosen.positive.sum(1).tolist() == [1, 0, 1, 1, 0]
        assert torch.equal(chosen.negative, pairs.negative)
        seen += chosen.positive
    assert torch.equal(seen > 0, pairs.positive > 0)
