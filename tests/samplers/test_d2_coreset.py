"""d2-coreset: picks drawn by distance, with partners of their classes."""

from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from fairground.samplers import D2CoresetSampler
from fairground.samplers.d2_coreset import draw_spread
from tests.samplers.splits import draws, even_split, seeded

LABELS = even_split(n_classes=30, size=12)


@pytest.mark.parametrize(
    ("more", "less", "ratio"),
    [({"spread": 4.0, "density": False}, {"spread": 0.0, "density": False}, 1.2), ({"density": False}, {}, 1.1)],
)
def test_spread_draws_more_outlying_images_and_density_fewer(more, less, ratio):
    embeddings = torch.randn(360, 4, generator=seeded())
    lengths = []
    for settings in (more, less):
        sampler = D2CoresetSampler(labels=LABELS, batch_size=20, per_class=1, normalise=False, **settings)
        sampler.fill(embeddings)
        lengths.append(embeddings[torch.tensor(draws(sampler, 20))].norm(dim=-1).mean())
    assert lengths[0] > ratio * lengths[1]


POINTS = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])


def share_by_hand(picks, spread, density):
    """Chances of each point to be the next, by the formula."""
    points = POINTS.double().numpy()
    sums = np.array([sum(((x - points[j]) ** 2).sum() for j in picks) for x in points])
    chance = sums**spread
    if density:
        chance *= multivariate_normal.pdf(points, points.mean(0), np.cov(points.T))
    chance[picks] = 0
    return chance / chance.sum()


@pytest.mark.parametrize(("spread", "density"), [(1.0, False), (2.0, False), (0.0, False), (1.0, True), (9.0, False)])
def test_the_next_pick_follows_the_formula(spread, density):
    counts = {}
    for seed in range(3_000):
        *before, last = draw_spread(POINTS, 3, seeded(seed), spread=spread, density=density).tolist()
        counts.setdefault(tuple(before), Counter())[last] += 1
    checked = 0
    for before, found in counts.items():
        n = found.total()
        for point, chance in enumerate(share_by_hand(list(before), spread, density)):
            assert abs(found[point] - n * chance) <= 5 * max(n * chance * (1 - chance), 1) ** 0.5
            checked += 1
    assert checked >= 24


def test_the_first_pick_is_near_the_middle_with_density_and_any_without():
    points = torch.cat([torch.zeros(1, 4), torch.randn(9, 4, generator=seeded()) * 5])
    with_density = Counter(draw_spread(points, 1, seeded(s), spread=1.0, density=True).item() for s in range(500))
    without = Counter(draw_spread(points, 1, seeded(s), spread=1.0, density=False).item() for s in range(500))
    assert with_density[0] > 2 * without[0]
    assert set(without) == set(range(10))


@pytest.mark.parametrize("points", [torch.ones(6, 3), torch.eye(6, 20), torch.randn(6, 200, generator=seeded())])
@pytest.mark.parametrize("density", [True, False])
def test_no_point_is_picked_twice_even_among_copies_or_in_too_many_dimensions(points, density):
    for seed in range(10):
        picks = draw_spread(points, 6, seeded(seed), spread=1.0, density=density).tolist()
        assert sorted(picks) == list(range(6))


def test_points_too_unlikely_to_tell_are_still_drawn():
    # One point is so far away that its density beside the others' is rounded to zero.
    points = torch.cat([torch.randn(400, 1, generator=seeded()) * 1e-4, torch.full((1, 1), 1e6)]).double()
    picks = draw_spread(points, 401, seeded(), spread=0.0, density=True).tolist()
    assert sorted(picks) == list(range(401))
