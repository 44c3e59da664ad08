from collections import Counter

from fairground.miners.distance_weighted import DistanceWeightedMiner
from fairground.miners.rho_distance import RhoDistanceMiner
from fairground.regularisers.rho import RhoRegulariser
from tests.losses.fixtures import F8, F8B, X
from tests.miners.oracle import (
    all_triplets,
    assert_chances,
    draw_often,
    evenly,
    marginal,
    positives_of,
    seeded,
    triplet_list,
)
from tests.miners.test_distance_weighted import WITH_HI


def test_always_switched_pushes_a_positive_from_every_anchor():
    mined = RhoDistanceMiner(p_switch=1)(X, F8B, generator=seeded())
    assert triplet_list(mined) == [(i, i, i ^ 1) for i in range(8)]


def test_never_switched_gives_valid_triplets():
    assert set(triplet_list(RhoDistanceMiner(p_switch=0)(X, F8, generator=seeded()))) <= all_triplets(F8)


def test_the_switch_is_thrown_per_anchor_with_its_probability():
    generator = seeded()
    thrown: Counter[int] = Counter()
    together: Counter[int] = Counter()
    for _ in range(600):
        mined = RhoDistanceMiner(p_switch=0.3)(X, F8B, generator=generator)
        is_switched = mined.positive == mined.anchor
        thrown.update(is_switched.int().tolist())
        together[int(is_switched[0]) * 2 + int(is_switched[1])] += 1
    assert_chances(thrown, {0: 0.7, 1: 0.3})
    assert_chances(together, {0: 0.49, 1: 0.21, 2: 0.21, 3: 0.09})


def test_unswitched_anchors_keep_the_distance_weighted_chances_and_switched_ones_draw_evenly():
    counts = draw_often(RhoDistanceMiner(p_switch=0.4), X, F8B, 700)
    kept = {t: c for t, c in counts.items() if t[1] != t[0]}
    assert_chances(marginal(kept, 0, lambda t: t[2]), dict(enumerate(WITH_HI)))
    counts = draw_often(RhoDistanceMiner(p_switch=0.5), X, F8, 300)
    switched = {t: c for t, c in counts.items() if t[1] == t[0]}
    for anchor in range(3):
        assert_chances(marginal(switched, anchor, lambda t: t[2]), evenly(positives_of(F8, anchor)))


def test_equals_the_regulariser_after_the_distance_weighted_miner():
    mined = DistanceWeightedMiner()(X, F8, generator=seeded(5))
    generator = seeded(5)
    DistanceWeightedMiner()(X, F8, generator=generator)
    changed = RhoRegulariser(p_switch=0.4).change_tuples(mined, F8, generator=generator)
    assert triplet_list(changed) == triplet_list(RhoDistanceMiner(p_switch=0.4)(X, F8, generator=seeded(5)))
