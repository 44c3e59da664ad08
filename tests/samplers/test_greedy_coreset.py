"""GC: picks that cover more than random ones, with partners of their classes."""

from collections import Counter

import pytest
import torch

from fairground.errors import InputError
from fairground.samplers import GreedyCoresetSampler
from fairground.samplers.greedy_coreset import farthest_first
from tests.losses.fixtures import X
from tests.samplers.splits import clustered, draws, even_split, seeded


def mean_nearest_distance(points):
    distances = torch.cdist(points, points).fill_diagonal_(torch.inf)
    return distances.min(1).values.mean().item()


def coverage(**settings):
    """Mean distance of a pick to its nearest other pick, over batches on the sphere, relative to picks by chance."""
    labels = even_split(n_classes=60, size=20)
    points = torch.nn.functional.normalize(clustered(labels, dimension=32, spread=1.0))
    sampler = GreedyCoresetSampler(labels=labels, batch_size=112, per_class=2, pool=512, **settings)
    sampler.fill(points)
    picks = torch.tensor(draws(sampler, 10))[:, ::2]
    by_chance = [torch.randperm(len(labels), generator=seeded(i))[:56] for i in range(10)]
    found, random = (sum(mean_nearest_distance(points[rows]) for rows in some) for some in (picks, by_chance))
    return found / random


def test_picks_lie_farther_apart_than_random_ones_and_those_of_the_released_code_do_not():
    assert coverage() > 1.15
    assert coverage(softened=True) > 1.08
    assert coverage(roth_code=True) == pytest.approx(1, rel=0.03)


def test_worked_case_through_the_sampler():
    # F8b: from element 0 the picks are 0, 7, 6, 3.
    sampler = GreedyCoresetSampler(labels=torch.arange(8) // 2, batch_size=4, per_class=1, pool=8)
    sampler.fill(X.float())
    batches = {tuple(batch) for batch in draws(sampler, 60)}
    assert {batch for batch in batches if batch[0] == 0} == {(0, 7, 6, 3)}


def test_the_live_bank_is_followed_and_the_frozen_one_is_not():
    labels = even_split(n_classes=10, size=10)
    # One class lies far from the others, which lie together; then another one does.
    before, after = torch.zeros(100, 2), torch.zeros(100, 2)
    before[labels == 3] = torch.tensor([5.0, 0.0])
    after[labels == 7] = torch.tensor([5.0, 0.0])
    seen = {}
    for mine in ("batch", "epoch"):
        sampler = GreedyCoresetSampler(labels=labels, batch_size=4, per_class=2, mine=mine, normalise=False)
        generator = seeded()
        sampler.fill(before)
        sampler.start_epoch(generator)
        sampler.draw(generator)
        sampler.observe(torch.arange(100), after)
        seen[mine] = {int(labels[row]) for _ in range(5) for row in sampler.draw(generator)}
    assert 7 in seen["batch"]
    assert 3 in seen["epoch"]


def test_what_is_known_and_told():
    labels = even_split(n_classes=4, size=5)
    assert GreedyCoresetSampler(labels=labels, batch_size=4).known_bugs() == ()
    assert "E42" in GreedyCoresetSampler(labels=labels, batch_size=4, roth_code=True).known_bugs()[0]
    (note,) = GreedyCoresetSampler(labels=labels, batch_size=4).notes()
    assert note == "sampler.pool = 1024, but the split has 20 images"
    with pytest.raises(InputError, match="the memory bank is empty"):
        GreedyCoresetSampler(labels=labels, batch_size=4).draw(seeded())


def by_loop(points, k, first):
    picks = [first]
    while len(picks) < k:
        rest = [i for i in range(len(points)) if i not in picks]
        picks.append(max(rest, key=lambda i: min(float((points[i] - points[j]).norm()) for j in picks)))
    return picks


@pytest.mark.parametrize("normalised", [True, False])
def test_agrees_with_a_slow_loop(normalised):
    points = torch.randn(40, 6, generator=seeded(), dtype=torch.float64)
    if normalised:
        points = points / points.norm(dim=1, keepdim=True)
    for seed in range(5):
        picks = farthest_first(points, 12, seeded(seed)).tolist()
        assert picks == by_loop(points, 12, picks[0])


def test_no_point_is_picked_twice_even_among_copies():
    points = torch.ones(6, 3)
    assert sorted(farthest_first(points, 6, seeded()).tolist()) == list(range(6))
    assert sorted(farthest_first(points, 6, seeded(), softness=0.5).tolist()) == list(range(6))


def test_soft_picks_are_among_the_farthest():
    # Seen from the first of eleven points on a line, the farthest 30 % are the last three: 8, 9 and 10 lie at or above
    # the 70th percentile, 7, of the distances.
    points = torch.arange(11.0)[:, None]
    seconds = Counter()
    for seed in range(2_000):
        first, second = farthest_first(points, 2, seeded(seed), softness=0.3).tolist()
        if first == 0:
            seconds[second] += 1
    assert set(seconds) == {7, 8, 9, 10}
