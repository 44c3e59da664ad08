"""Miners that draw: what may be drawn, and with which chances."""

import math
from collections import Counter

import pytest
import torch

from fairground.functional.pair_distances import distance_weights, inverse_density
from fairground.miners import DistanceWeightedMiner, RandomMiner, RhoDistanceMiner, SemihardMiner, SofthardMiner
from fairground.regularisers.rho import RhoRegulariser
from tests.losses.fixtures import F8, F8B, X
from tests.miners.oracle import (
    all_triplets,
    assert_chances,
    distances_by_loop,
    draw_often,
    evenly,
    marginal,
    negatives_of,
    positives_of,
    random_batch,
    seeded,
    triplet_list,
)

#: P(n | 0) on the fixture, dimension 4, lo .5
WITHOUT_HI = [0, 0, 0.097118, 0.087076, 0.147247, 0.451957, 0.101809, 0.114794]
WITH_HI = [0, 0, 0, 0, 0.210049, 0.644720, 0.145231, 0]


def chances(embeddings, labels, lo, hi):
    weights = distance_weights(embeddings, labels.unsqueeze(1) != labels, lo=lo, hi=hi)
    return weights / weights.sum(1, keepdim=True)


def chances_by_loop(embeddings, labels, anchor, lo, hi):
    dimension = embeddings.shape[1]
    d = distances_by_loop(embeddings)[anchor]
    weight = {}
    for n in negatives_of(labels, anchor):
        far = max(d[n], lo)
        is_cut = hi is not None and far >= hi
        density = far ** (dimension - 2) * (1 - far**2 / 4) ** ((dimension - 3) / 2)
        weight[n] = 0.0 if is_cut else 1 / density
    total = sum(weight.values())
    return {n: value / total for n, value in weight.items()}


@pytest.mark.parametrize(("hi", "expected"), [(None, WITHOUT_HI), (1.4, WITH_HI)])
def test_fixture_chances(hi, expected):
    found = chances(X, F8B, 0.5, hi)[0]
    assert torch.allclose(found, torch.tensor(expected, dtype=torch.float64), atol=5e-7)


@pytest.mark.parametrize("hi", [None, 1.4])
def test_draws_have_the_fixture_chances(hi):
    counts = draw_often(DistanceWeightedMiner(hi=hi), X, F8B, 700)
    expected = dict(enumerate(WITHOUT_HI if hi is None else WITH_HI))
    assert_chances(marginal(counts, 0, lambda t: t[2]), expected)


@pytest.mark.parametrize("dimension", [2, 3, 4, 16])
@pytest.mark.parametrize("hi", [None, 1.4])
def test_chances_agree_with_a_loop(dimension, hi):
    embeddings, labels = random_batch(12, dimension, 3)
    found = chances(embeddings, labels, 0.5, hi)
    for anchor in range(12):
        for n, chance in chances_by_loop(embeddings, labels, anchor, 0.5, hi).items():
            assert math.isclose(float(found[anchor, n]), chance, rel_tol=1e-8, abs_tol=1e-12)


def test_positives_are_equally_likely():
    counts = draw_often(DistanceWeightedMiner(), X, F8, 400)
    for anchor in range(3):
        assert_chances(marginal(counts, anchor, lambda t: t[1]), evenly(positives_of(F8, anchor)))


def test_published_weights_at_dimension_128():
    # log w = 91.4 at .5, 18.0 at 1.0, -0.3 at 1.4, 64.6 at 1.9: without `hi` nearly opposite negatives are preferred.
    d = torch.tensor([0.5, 1.0, 1.4, 1.9], dtype=torch.float64)
    assert [round(value, 1) for value in inverse_density(d.square(), 128).tolist()] == [91.4, 18.0, -0.3, 64.6]


def test_one_near_duplicate_does_not_silence_the_other_anchors():
    embeddings, _ = random_batch(64, 512, 2, seed=3)
    embeddings = embeddings.float()
    labels = torch.arange(64) // 2
    embeddings[2] = embeddings[0] + 1e-3
    mined = DistanceWeightedMiner(hi=None)(embeddings, labels, generator=seeded())
    assert mined.anchor.tolist() == list(range(64))


def test_an_anchor_with_nothing_below_hi_is_skipped():
    # Every distance but that between rows 0 and 5 (.395) is above .6, so rows 0 and 5 alone have a negative.
    d = distances_by_loop(X)
    near = [i for i in range(8) if any(d[i][n] < 0.6 for n in negatives_of(F8B, i))]
    assert DistanceWeightedMiner(hi=0.6)(X, F8B, generator=seeded()).anchor.tolist() == near
    assert 0 < len(near) < 8


def test_class_count_draws_as_often_as_the_class_has_members_but_keeps_no_triplet_twice():
    generator = seeded()
    labels = torch.tensor([0] * 5 + [1] * 3 + [2])
    embeddings, _ = random_batch(9, 8, 2)
    most: Counter[int] = Counter()
    for _ in range(100):
        miner = DistanceWeightedMiner(per_anchor="class_count", hi=None)
        mined = triplet_list(miner(embeddings, labels, generator=generator))
        assert len(set(mined)) == len(mined)
        for anchor, count in Counter(a for a, _, _ in mined).items():
            most[anchor] = max(most[anchor], count)
    assert dict(most) == {**dict.fromkeys(range(5), 5), **dict.fromkeys(range(5, 8), 3)}


def test_cap_and_fixed_count():
    labels = torch.tensor([0] * 5 + [1] * 5)
    embeddings, _ = random_batch(10, 8, 2)
    mined = DistanceWeightedMiner(per_anchor="class_count", per_anchor_cap=2)(embeddings, labels, generator=seeded())
    assert max(Counter(mined.anchor.tolist()).values()) == 2
    mined = DistanceWeightedMiner(per_anchor=3)(embeddings, labels, generator=seeded())
    assert max(Counter(mined.anchor.tolist()).values()) == 3


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


def test_always_switched_pushes_a_positive_from_every_anchor():
    mined = RhoDistanceMiner(p_switch=1)(X, F8B, generator=seeded())
    assert triplet_list(mined) == [(i, i, i ^ 1) for i in range(8)]


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


def candidates_by_loop(embeddings, labels, anchor, positive, margin):
    d = distances_by_loop(embeddings)[anchor]
    negatives = negatives_of(labels, anchor)
    return [n for n in negatives if d[positive] < d[n] < d[positive] + margin] or negatives


def test_fixture_anchor():
    # d_0 = (0, .956, 1.900, 1.865, .914, .395, 1.145, 1.934): row 6 alone lies between .956 and 1.156.
    for seed in range(20):
        mined = triplet_list(SemihardMiner(margin=0.2)(X, F8B, generator=seeded(seed)))
        assert mined[0] == (0, 1, 6)


def test_draws_evenly_among_candidates_and_falls_back_to_any_negative():
    embeddings, labels = random_batch(10, 3, 3, seed=4)
    counts = draw_often(SemihardMiner(margin=0.3), embeddings, labels, 800)
    for anchor in range(10):
        positives = positives_of(labels, anchor)
        assert_chances(marginal(counts, anchor, lambda t: t[1]), evenly(positives))
        for positive in positives:
            given = {t: c for t, c in counts.items() if t[:2] == (anchor, positive)}
            candidates = candidates_by_loop(embeddings, labels, anchor, positive, 0.3)
            assert_chances(marginal(given, anchor, lambda t: t[2]), evenly(candidates))


def sets_by_loop(embeddings, labels, anchor):
    d = distances_by_loop(embeddings)[anchor]
    positives, negatives = positives_of(labels, anchor), negatives_of(labels, anchor)
    farthest = max(d[p] for p in positives)
    nearest = min(d[n] for n in negatives)
    hard_positives = [p for p in positives if d[p] > nearest] or positives
    return hard_positives, [n for n in negatives if d[n] < farthest] or negatives


def test_fixture_anchors():
    counts = draw_often(SofthardMiner(), X, F8B, 100)
    assert set(marginal(counts, 0, lambda t: t[2])) == {4, 5}
    assert set(marginal(counts, 0, lambda t: t[1])) == {1}
    assert set(marginal(counts, 6, lambda t: t[2])) == {0, 1, 2, 5}
    assert set(marginal(counts, 6, lambda t: t[1])) == {7}


def test_draws_evenly_from_both_hard_sets():
    embeddings, labels = random_batch(12, 3, 3, seed=2)
    counts = draw_often(SofthardMiner(), embeddings, labels, 600)
    for anchor in range(12):
        positives, negatives = sets_by_loop(embeddings, labels, anchor)
        assert_chances(marginal(counts, anchor, lambda t: t[1]), evenly(positives))
        assert_chances(marginal(counts, anchor, lambda t: t[2]), evenly(negatives))


def test_two_tight_classes_fall_back_to_all():
    embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.01], [1.0, 0.02], [0.0, 1.0], [0.01, 1.0], [0.02, 1.0]])
    counts = draw_often(SofthardMiner(), embeddings, torch.tensor([0, 0, 0, 1, 1, 1]), 100)
    assert set(marginal(counts, 0, lambda t: t[1])) == {1, 2}
    assert set(marginal(counts, 0, lambda t: t[2])) == {3, 4, 5}
