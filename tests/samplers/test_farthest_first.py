"""Farthest-first picks: the worked case, a slow loop, and the soft form."""

from collections import Counter

import pytest
import torch

from fairground.samplers.greedy_coreset import farthest_first
from tests.samplers.splits import seeded


def by_loop(points, k, first):
    picks = [first]
    while len(picks) < k:
        rest = [i for i in range(len(points)) if i not in picks]
        picks.append(max(rest, key=lambda i: min(float((points[i] - points[j]).norm()) for j in picks)))
    return picks


def fixture():
    """The embeddings of F8b, on the unit sphere."""
    i, d = torch.arange(1.0, 9, dtype=torch.float64)[:, None], torch.arange(1.0, 5, dtype=torch.float64)
    x = torch.sin(1.3 * i + 0.7 * d**2) + 0.25 * torch.cos(2.1 * i * d)
    return x / x.norm(dim=1, keepdim=True)


def from_first(points, k, first, **settings):
    """The picks of the first seed whose random first pick is `first`."""
    for seed in range(1_000):
        picks = farthest_first(points, k, seeded(seed), **settings).tolist()
        if picks[0] == first:
            return picks
    raise AssertionError("no seed begins there")


def test_worked_case():
    assert from_first(fixture(), 4, 0) == [0, 7, 6, 3]


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
