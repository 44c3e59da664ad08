import pytest
import torch

from fairground.contracts.loss import LossInputs, Pairs, Triplets
from fairground.functional.pairs import one_random_positive as by_formula
from fairground.functional.pairs import pair_weights
from fairground.kernels.batch_pairs import batch_pairs, one_random_positive


def _labels(n, n_classes):
    return torch.randint(-n_classes, n_classes, (n,), generator=torch.Generator().manual_seed(n))


@pytest.mark.parametrize(
    ("n", "n_classes"), [(0, 1), (1, 1), (2, 1), (40, 6), (256, 30), (257, 30), (300, 1), (300, 999)]
)
def test_every_ordered_pair_of_a_class_once(n, n_classes):
    labels = _labels(n, n_classes)
    pairs = batch_pairs(LossInputs(torch.zeros(n, 2), labels))
    same = (labels.unsqueeze(1) == labels).fill_diagonal_(False)
    found = torch.zeros(n, n, dtype=torch.long)
    found.index_put_((pairs.anchor, pairs.positive), torch.ones(len(pairs.anchor), dtype=torch.long), accumulate=True)
    assert torch.equal(pairs.place, pairs.anchor * n + pairs.positive)
    assert pairs.own.sort().values.tolist() == (labels.unsqueeze(1) == labels).view(-1).nonzero().squeeze(1).tolist()
    assert torch.equal(found, same.long())


@pytest.mark.parametrize("n", [12, 300])
def test_what_is_left_are_the_negatives(n):
    labels = _labels(n, 4)
    pairs = batch_pairs(LossInputs(torch.zeros(n, 2), labels))
    kept = pairs.keep_negatives_(torch.zeros(n, n))
    assert torch.equal(kept == 0, labels.unsqueeze(1) != labels)
    assert torch.equal(pairs.keep_pairs_(torch.zeros(n, n)) == 0, ~torch.eye(n, dtype=torch.bool))
    # A positive that was left out does not turn into a negative.
    fewer = pairs.where(pairs.anchor < pairs.positive)
    assert torch.equal(fewer.keep_negatives_(torch.zeros(n, n)), kept)


def test_mined_pairs_once_or_as_often_as_they_were_chosen():
    triplets = Triplets(*(torch.tensor(index) for index in ([0, 0, 2], [1, 1, 3], [2, 2, 0])))
    embeddings, labels = torch.zeros(4, 2), torch.tensor([0, 0, 1, 1])
    once, counted = (
        batch_pairs(LossInputs(embeddings, labels, triplets), repeats=repeats) for repeats in (False, True)
    )
    assert once.anchor.tolist() == [0, 2]
    assert counted.anchor.tolist() == [0, 0, 2]
    assert once.keep_negatives_(torch.zeros(4, 4))[0, 2] == 0
    assert counted.keep_negatives_(torch.zeros(4, 4))[0, 2].item() == pytest.approx(0.6931472)
    kept = once.keep_pairs_(torch.zeros(4, 4))
    assert (kept == 0).nonzero().tolist() == [[0, 1], [0, 2], [2, 0], [2, 3]]


def test_one_random_positive_for_each_anchor_that_has_any():
    labels = torch.tensor([0, 0, 0, 1, 1, 2])
    pairs = batch_pairs(LossInputs(torch.zeros(6, 2), labels))
    generator = torch.Generator().manual_seed(0)
    seen = set()
    for _ in range(60):
        chosen = one_random_positive(pairs, generator)
        assert chosen.anchor.tolist() == [0, 1, 2, 3, 4]
        assert torch.equal(chosen.place, chosen.anchor * 6 + chosen.positive)
        seen |= set(zip(chosen.anchor.tolist(), chosen.positive.tolist(), strict=True))
    assert seen == {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (3, 4), (4, 3)}


def test_the_formula_draws_the_same_positives():
    labels = torch.tensor([3, 0, 0, 3, 1, 0])
    embeddings = torch.zeros(6, 2)
    mined = Pairs(*(torch.tensor(index) for index in ([2, 0, 2, 2, 1], [5, 3, 1, 1, 2], [0], [1])))
    for tuples in (None, mined):
        pairs = batch_pairs(LossInputs(embeddings, labels, tuples), repeats=True)
        weights = pair_weights(embeddings, labels, tuples, repeats=True)
        for seed in range(20):
            ours = one_random_positive(pairs, torch.Generator().manual_seed(seed))
            theirs = by_formula(weights, torch.Generator().manual_seed(seed)).positive.nonzero()
            assert torch.stack([ours.anchor, ours.positive], 1).tolist() == theirs.tolist()
