from collections import Counter

from fairground.miners.random import RandomMiner
from tests.losses.fixtures import F8, X
from tests.miners.oracle import (
    all_triplets,
    assert_chances,
    draw_often,
    evenly,
    marginal,
    negatives_of,
    positives_of,
    seeded,
    triplet_list,
)


def test_positives_and_negatives_are_equally_likely():
    counts = draw_often(RandomMiner(), X, F8, 600)
    for anchor in range(7):
        assert_chances(marginal(counts, anchor, lambda t: t[1]), evenly(positives_of(F8, anchor)))
        assert_chances(marginal(counts, anchor, lambda t: t[2]), evenly(negatives_of(F8, anchor)))


def test_roth_code_is_uniform_over_all_triplets():
    counts = draw_often(RandomMiner(roth_code=True), X, F8, 600)
    every = sorted(all_triplets(F8))
    assert len(every) == 3 * 2 * 5 + 4 * 1 * 6
    number = {triplet: i for i, triplet in enumerate(every)}
    assert_chances(Counter({number[t]: count for t, count in counts.items()}), evenly(range(len(every))))


def test_roth_code_draws_as_many_as_the_batch_has_samples_and_no_triplet_twice():
    mined = RandomMiner(roth_code=True)(X, F8, generator=seeded(3))
    assert mined.size == 8
    assert len(set(triplet_list(mined))) == 8
