"""What every miner owes: valid tuples, none twice, the same for the same seed, and nothing from nothing."""

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.errors import InputError
from fairground.spec.catalogue import find, list_room
from tests.miners.oracle import pair_lists, random_batch, seeded, triplet_list

MINERS = {name: find("miners", name)() for name in list_room("miners")}
each_miner = pytest.mark.parametrize("miner", MINERS.values(), ids=MINERS)
#: the one miner whose business it is to make the anchor its own positive and a positive the negative
SWITCHING = "RhoDistanceMiner"


def check_valid(miner, mined, labels):
    y = labels.tolist()
    assert isinstance(mined, miner.yields)
    if isinstance(mined, Triplets):
        listed = triplet_list(mined)
        assert len(set(listed)) == len(listed)
        for a, p, n in listed:
            if type(miner).__name__ == SWITCHING and a == p:
                assert y[n] == y[a]
                assert n != a
            else:
                assert a != p
                assert y[a] == y[p] != y[n]
    else:
        assert isinstance(mined, Pairs)
        positive, negative = pair_lists(mined)
        assert len(set(positive)) == len(positive)
        assert len(set(negative)) == len(negative)
        assert all(a != p and y[a] == y[p] for a, p in positive)
        assert all(y[a] != y[n] for a, n in negative)


@each_miner
@pytest.mark.parametrize(("n", "dimension", "n_classes"), [(24, 8, 5), (16, 2, 12), (30, 32, 2)])
def test_every_tuple_is_valid_and_comes_once(miner, n, dimension, n_classes):
    for seed in range(5):
        embeddings, labels = random_batch(n, dimension, n_classes, seed=seed)
        mined = miner(embeddings, labels, generator=seeded(seed))
        assert mined.size > 0
        assert all(part.dtype == torch.long and part.ndim == 1 for part in mined)
        check_valid(miner, mined, labels)


@each_miner
def test_the_same_seed_gives_the_same_tuples_whatever_was_drawn_elsewhere(miner):
    embeddings, labels = random_batch(24, 8, 5)
    first = miner(embeddings, labels, generator=seeded(7))
    torch.manual_seed(123)
    torch.rand(10)
    before = torch.random.get_rng_state()
    second = miner(embeddings, labels, generator=seeded(7))
    assert all(torch.equal(left, right) for left, right in zip(first, second, strict=True))
    assert torch.equal(before, torch.random.get_rng_state())


@each_miner
def test_nothing_to_mine_gives_nothing(miner):
    for labels in ([], [0], [0] * 6, list(range(6))):
        mined = miner(random_batch(len(labels), 4, 2)[0], torch.tensor(labels).long(), generator=seeded())
        assert isinstance(mined, miner.yields)
        assert mined.size == 0


@each_miner
def test_small_batches_broken_embeddings_and_half_precision_give_valid_tuples(miner):
    crowd = torch.tensor([0, 0, 1, 1, 2, 2, 3])
    batches = [(torch.full((7, 4), fill), crowd) for fill in (1.0, 0.0, torch.nan, torch.inf)]
    batches += [(torch.eye(len(y), 4), torch.tensor(y)) for y in ([0, 0], [0, 1], [0, 0, 1], [0, 1, 1])]
    for embeddings, labels in batches:
        check_valid(miner, miner(embeddings, labels, generator=seeded()), labels)
    embeddings, labels = random_batch(24, 8, 5)
    for dtype in (torch.float16, torch.bfloat16):
        mined = miner(embeddings.to(dtype), labels, generator=seeded())
        assert mined.size > 0
        check_valid(miner, mined, labels)
    check_valid(miner, miner(embeddings, labels), labels)


@each_miner
def test_labels_are_only_compared(miner):
    embeddings, labels = random_batch(24, 8, 5)
    names = torch.tensor([-5, 7, 10**12, 0, 3]).sort().values
    first = miner(embeddings, labels, generator=seeded())
    second = miner(embeddings, names[labels], generator=seeded())
    assert all(torch.equal(left, right) for left, right in zip(first, second, strict=True))


@each_miner
def test_embeddings_are_neither_changed_nor_tracked(miner):
    embeddings, labels = random_batch(24, 8, 5)
    embeddings.requires_grad_(True)
    before = embeddings.detach().clone()
    mined = miner(embeddings, labels, generator=seeded())
    assert torch.equal(embeddings.detach(), before)
    assert not any(part.requires_grad for part in mined)


@each_miner
def test_a_lone_sample_of_its_class_is_no_anchor_but_may_be_a_negative(miner):
    embeddings, _ = random_batch(9, 4, 2)
    labels = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 9])
    anchors, negatives = set(), set()
    for seed in range(40):
        mined = miner(embeddings, labels, generator=seeded(seed))
        anchors |= set((mined.anchor if isinstance(mined, Triplets) else mined.negative_anchor).tolist())
        negatives |= set(mined.negative.tolist())
    assert 8 not in anchors
    assert negatives <= set(range(9))


@each_miner
def test_what_does_not_fit_is_refused(miner):
    with pytest.raises(InputError, match="takes embeddings of shape"):
        miner(torch.ones(3), torch.zeros(3, dtype=torch.long))
    with pytest.raises(InputError, match="takes one label per embedding"):
        miner(torch.ones(3, 2), torch.zeros(2, dtype=torch.long))
    with pytest.raises(InputError, match="takes integer labels"):
        miner(torch.ones(3, 2), torch.zeros(3))
