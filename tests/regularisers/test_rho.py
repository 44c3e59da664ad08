from collections import Counter

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.errors import InputError
from fairground.losses.normalised_softmax import NormalisedSoftmaxLoss
from fairground.regularisers.rho import RhoRegulariser
from tests.losses.fixtures import F8, F8B, T8B
from tests.miners.oracle import assert_chances, evenly, positives_of, seeded, triplet_list

EVERY_ANCHOR_SWITCHED = {
    "code": [(i, i, i ^ 1) for i in range(8)],
    "replace": [(i, i ^ 1, i ^ 1) for i in range(8)],
    "swap": [(a, n, p) for a, p, n in triplet_list(T8B)],
}


@pytest.mark.parametrize("reading", EVERY_ANCHOR_SWITCHED)
def test_three_readings_of_one_switch(reading):
    # In classes of two, row i's only positive is row i with its last bit turned.
    changed = RhoRegulariser(p_switch=1, reading=reading).change_tuples(T8B, F8B, generator=seeded())
    assert triplet_list(changed) == EVERY_ANCHOR_SWITCHED[reading]
    unchanged = RhoRegulariser(p_switch=0, reading=reading).change_tuples(T8B, F8B, generator=seeded())
    assert triplet_list(unchanged) == triplet_list(T8B)


@pytest.mark.parametrize("reading", ["code", "replace", "swap"])
def test_the_triplets_of_an_anchor_switch_together_and_anchors_independently(reading):
    triplets = Triplets(torch.tensor([0, 0, 0, 3, 3]), torch.tensor([1, 2, 1, 4, 4]), torch.tensor([3, 4, 5, 0, 5]))
    generator = seeded(1)
    seen: Counter[int] = Counter()
    for _ in range(600):
        changed = RhoRegulariser(p_switch=0.3, reading=reading).change_tuples(triplets, F8, generator=generator)
        is_changed = (changed.negative != triplets.negative).tolist()
        assert is_changed[0] == is_changed[1] == is_changed[2]
        assert is_changed[3] == is_changed[4]
        assert torch.equal(changed.anchor, triplets.anchor)
        seen[is_changed[0] * 2 + is_changed[3]] += 1
    assert_chances(seen, {0: 0.49, 1: 0.21, 2: 0.21, 3: 0.09})


def test_the_pushed_positive_is_drawn_evenly():
    labels = torch.tensor([0, 0, 0, 0, 1])
    triplets = Triplets(torch.zeros(4000, dtype=torch.long), torch.ones(4000, dtype=torch.long), torch.full((4000,), 4))
    changed = RhoRegulariser(p_switch=1).change_tuples(triplets, labels, generator=seeded())
    assert_chances(Counter(changed.negative.tolist()), evenly(positives_of(labels, 0)))


@pytest.mark.parametrize("reading", ["code", "replace", "swap"])
def test_an_anchor_without_positives_keeps_its_triplets(reading):
    # Such a triplet can only come from outside: row 7 is alone in its class, last in the batch's order.
    triplets = Triplets(torch.tensor([7, 0]), torch.tensor([7, 1]), torch.tensor([0, 3]))
    changed = RhoRegulariser(p_switch=1, reading=reading).change_tuples(triplets, F8, generator=seeded())
    assert triplet_list(changed)[0] == (7, 7, 0)
    assert triplet_list(changed)[1] != (0, 1, 3)


def test_refusals():
    with pytest.raises(InputError, match=r"rho.p_switch must be in \[0, 1\].*got -0.1"):
        RhoRegulariser(p_switch=-0.1)
    with pytest.raises(InputError, match=r"rho.reading must be 'code', 'replace' or 'swap'; got 'paper'"):
        RhoRegulariser(reading="paper")
    nothing = torch.empty(0, dtype=torch.long)
    with pytest.raises(InputError, match=r"regulariser rho changes triplets, and this miner gives pairs"):
        RhoRegulariser().change_tuples(Pairs(nothing, nothing, nothing, nothing), F8)
    with pytest.raises(InputError, match=r"regulariser rho changes triplets; NormalisedSoftmaxLoss takes none"):
        RhoRegulariser().check_loss(NormalisedSoftmaxLoss(n_classes=2, embedding_dim=2))
