import math
from collections import Counter

import pytest
import torch

from fairground.functional.triplets import distance_weights
from fairground.miners.distance_weighted import DistanceWeightedMiner
from tests.losses.fixtures import F8, F8B, X
from tests.miners.oracle import (
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
    from fairground.functional.triplets import inverse_density

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
        mined = triplet_list(
            DistanceWeightedMiner(per_anchor="class_count", hi=None)(embeddings, labels, generator=generator)
        )
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
