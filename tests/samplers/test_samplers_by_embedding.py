"""Samplers that look at embeddings: what they pick, by hand, by loops and by chance; and their memory bank."""

from collections import Counter

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist
from scipy.stats import multivariate_normal, wasserstein_distance

from fairground.errors import DataError, DivergedError, InputError
from fairground.samplers import D2CoresetSampler, DistanceDistributionSampler, FrechetSampler, GreedyCoresetSampler
from fairground.samplers.d2_coreset import draw_spread
from fairground.samplers.distance_distribution import distance_histograms
from fairground.samplers.frechet import frechet_distances
from fairground.samplers.greedy_coreset import farthest_first
from tests.losses.fixtures import X
from tests.samplers.splits import candidates_of, clustered, draws, even_split, seeded


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
    # Images come twice, as they are drawn with replacement.
    assert 0.9 < coverage(roth_code=True) < 1


@pytest.mark.parametrize(("mine", "n_subsets"), [("epoch", 1), ("batch", 30)])
def test_the_released_code_looks_picks_up_in_one_subset_per_epoch(mine, n_subsets):
    labels = even_split(n_classes=60, size=10)
    sampler = GreedyCoresetSampler(labels=labels, batch_size=20, per_class=2, pool=40, mine=mine, roth_code=True)
    sampler.fill(clustered(labels, dimension=8, spread=1.0))
    for epoch in range(2):
        batches = torch.tensor([list(rows) for rows in sampler])
        assert len(batches) == 30
        assert (labels[batches[:, ::2]] == labels[batches[:, 1::2]]).all()
        n_rows = len(batches[:, ::2].unique())
        assert (n_rows <= 40) == (n_subsets == 1), (epoch, n_rows)


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


def histograms(points, batch):
    distances = pdist(points)
    edges = np.linspace(distances.min(), distances.max(), 51)
    return edges[:-1], np.histogram(distances, edges)[0], np.histogram(pdist(points[batch]), edges)[0]


def w1(points, batch):
    edges, whole, part = histograms(points, batch)
    return wasserstein_distance(edges, edges, part, whole)


def roth_code(points, batch):
    _, whole, part = histograms(points, batch)
    heights = wasserstein_distance(whole / whole.sum(), part / part.sum())
    shift = np.linalg.norm(points.mean(0) - points[batch].mean(0))
    return shift + np.linalg.norm(points.std(0) - points[batch].std(0)) + 75 * 2 * heights


def check_the_best_is_taken(sampler, embeddings, formula, *, per_class, n_seeds, replace_classes=False):
    """The sampler draws, of the candidates that the same seed gives, the one with the least of the formula."""
    sampler.fill(embeddings)
    chosen = set()
    for seed in range(n_seeds):
        asked = {"pool": 200, "n_slots": 40 // per_class, "per_class": per_class, "replace_classes": replace_classes}
        rows, batches = candidates_of(LABELS, **asked, seed=seed)
        points = embeddings[rows].double().numpy()
        best = int(np.argmin([formula(points, batch.numpy()) for batch in batches]))
        assert torch.equal(sampler.draw(seeded(seed)), rows[batches[best]])
        chosen.add(best)
    assert len(chosen) > 2


@pytest.mark.parametrize(("cost", "formula"), [("w1", w1), ("roth_code", roth_code)])
@pytest.mark.parametrize("per_class", [2, 4])
def test_the_best_of_the_candidates_is_taken(cost, formula, per_class):
    embeddings = torch.nn.functional.normalize(clustered(LABELS, spread=0.7))
    sampler = DistanceDistributionSampler(labels=LABELS, batch_size=40, per_class=per_class, pool=200, cost=cost)
    check_the_best_is_taken(sampler, embeddings, formula, per_class=per_class, n_seeds=8)


def test_a_candidate_of_repeats_alone_is_never_better_than_one_with_distances():
    # Class 0 has one image: a batch of it twice has no distances. Half of the candidates are such batches.
    labels = torch.tensor([0] + [1] * 10)
    settings = {"per_class": 2, "pool": 60, "candidates": 30, "replace_classes": True}
    sampler = DistanceDistributionSampler(labels=labels, batch_size=2, **settings)
    sampler.fill(torch.randn(11, 3, generator=seeded()))
    assert all(set(batch) != {0} for batch in draws(sampler, 50))


def test_a_pool_of_one_image_gives_that_image():
    labels = torch.tensor([0, 1])
    sampler = DistanceDistributionSampler(labels=labels, batch_size=2, per_class=2, pool=2, replace_classes=True)
    sampler.fill(torch.eye(2))
    assert all(len(set(batch)) == 1 for batch in draws(sampler, 5))


def test_the_released_cost_owns_up_to_its_bug():
    assert "E43" in DistanceDistributionSampler(labels=LABELS, batch_size=40, cost="roth_code").known_bugs()[0]
    assert DistanceDistributionSampler(labels=LABELS, batch_size=40).known_bugs() == ()


@pytest.mark.parametrize("n", [3, 50, 300])
@pytest.mark.parametrize("n_bins", [50, 7])
def test_agrees_with_numpy(n, n_bins):
    points = torch.randn(n, 5, generator=seeded(), dtype=torch.float64)
    subsets = torch.stack([torch.randperm(n, generator=seeded(i))[: n // 2 + 1] for i in range(4)])
    whole, parts, width = distance_histograms(points, subsets, n_bins)
    distances = pdist(points.numpy())
    span = (distances.min(), distances.max())
    expected, _ = np.histogram(distances, n_bins, span)
    np.testing.assert_allclose(whole, expected / expected.sum(), atol=1e-12)
    assert width == pytest.approx((span[1] - span[0]) / n_bins)
    for part, subset in zip(parts, subsets.numpy(), strict=True):
        expected, _ = np.histogram(pdist(points.numpy()[subset]), n_bins, span)
        np.testing.assert_allclose(part, expected / expected.sum(), atol=1e-12)


def test_points_on_a_line_by_hand():
    # 0, 1 and 3 are 1, 2 and 3 apart: with two bins, [1, 2) has one distance and [2, 3] two. A repeat has none.
    points = torch.tensor([[0.0], [1.0], [3.0]])
    whole, parts, width = distance_histograms(points, torch.tensor([[0, 1, 1], [2, 0, 0], [1, 1, 1]]), 2)
    assert whole.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert parts.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert width == 1


def test_identical_points_share_the_first_bin():
    whole, parts, width = distance_histograms(torch.ones(6, 3), torch.tensor([[0, 1, 2]]), 4)
    assert whole.tolist() == [1, 0, 0, 0]
    assert parts.tolist() == [[1, 0, 0, 0]]
    assert width == 0


def by_roots(points, subset):
    """The formula, with a root of each product of covariances."""
    part = points[subset]
    shift = part.mean(0) - points.mean(0)
    own, whole = np.cov(part.T), np.cov(points.T)
    # The root of a product of covariances, by symmetric roots: no small imaginary parts to drop.
    values, vectors = np.linalg.eigh(whole)
    half = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    root = np.sqrt(np.clip(np.linalg.eigvalsh(half @ own @ half), 0, None)).sum()
    return shift @ shift + np.trace(own + whole) - 2 * root


@pytest.mark.parametrize(("dimension", "per_class"), [(8, 4), (8, 2), (48, 4)])
@pytest.mark.parametrize("replace_classes", [False, True])
def test_the_best_of_the_candidates_is_taken_frechet(dimension, per_class, replace_classes):
    embeddings = torch.nn.functional.normalize(clustered(LABELS, dimension=dimension, spread=0.7))
    classes = {"per_class": per_class, "replace_classes": replace_classes}
    sampler = FrechetSampler(labels=LABELS, batch_size=40, pool=200, **classes)
    check_the_best_is_taken(sampler, embeddings, by_roots, n_seeds=6, **classes)


def subsets_of(n, b, m, seed=0):
    return torch.stack([torch.randperm(n, generator=seeded(seed + i))[:b] for i in range(m)])


def test_covariances_diag_1_4_and_diag_4_9_a_step_apart_give_three():
    # 1 + (1 - 2)^2 + (2 - 3)^2 = 3. The first four points have mean (0, 0) and scatter 3 diag(1, 4); the others have
    # mean (2, 0) and the scatter that brings the whole to 7 diag(4, 9).
    a, c = 8.5**0.5, 25.5**0.5
    first = torch.tensor([[1.5**0.5, 0], [-(1.5**0.5), 0], [0, 6**0.5], [0, -(6**0.5)]], dtype=torch.float64)
    others = torch.tensor([[2 + a, 0], [2 - a, 0], [2, c], [2, -c]], dtype=torch.float64)
    points = torch.cat([first, others])
    torch.testing.assert_close(points.T.cov(), torch.diag(torch.tensor([4.0, 9.0]).double()))
    (distance,) = frechet_distances(points, torch.tensor([[0, 1, 2, 3]]))
    assert distance.item() == pytest.approx(3, abs=1e-9)


@pytest.mark.parametrize(("n", "d", "b"), [(60, 5, 20), (60, 40, 12), (30, 50, 12), (300, 140, 20)])
def test_agrees_with_matrix_roots(n, d, b):
    points = torch.randn(n, d, generator=seeded(), dtype=torch.float64) + 3
    subsets = subsets_of(n, b, 6)
    expected = [by_roots(points.numpy(), subset.numpy()) for subset in subsets]
    np.testing.assert_allclose(frechet_distances(points, subsets).numpy(), expected, rtol=1e-7)


def test_identical_points_and_the_whole_itself_are_at_no_distance():
    points = torch.randn(40, 6, generator=seeded(), dtype=torch.float64)
    assert frechet_distances(points, torch.arange(40).unsqueeze(0)).item() == pytest.approx(0, abs=1e-9)
    assert frechet_distances(torch.ones(1, 3), torch.zeros(2, 4, dtype=torch.long)).tolist() == [0, 0]
    for value in (0.0, 1.0, -3e4):
        found = frechet_distances(torch.full((12, 5), value), subsets_of(12, 4, 3))
        torch.testing.assert_close(found, torch.zeros(3).double(), atol=1e-6, rtol=0)


FILLED = torch.arange(12.0).view(6, 2)
each_place = pytest.mark.parametrize("memory_limit", [1.0, 0.0], ids=["in memory", "on disk"])


def empty(**settings):
    settings = {"labels": torch.arange(6), "batch_size": 1, "per_class": 1, "normalise": False} | settings
    return GreedyCoresetSampler(**settings)


def filled(**settings):
    bank = empty(**settings)
    bank.fill(FILLED)
    return bank


@each_place
def test_an_update_overwrites_its_rows_and_no_others(memory_limit):
    bank = filled(memory_limit=memory_limit)
    bank.observe(torch.tensor([4, 1]), torch.tensor([[-1.0, -2.0], [-3.0, -4.0]]))
    expected = FILLED.clone()
    expected[4] = torch.tensor([-1.0, -2.0])
    expected[1] = torch.tensor([-3.0, -4.0])
    assert torch.equal(bank.bank, expected)


@each_place
def test_rows_come_out_in_the_order_asked_for_and_are_copies(memory_limit):
    bank = filled(memory_limit=memory_limit)
    rows = bank.points(torch.tensor([4, 1, 4, 0, 5, 1]), seeded())
    assert rows.tolist() == [[8, 9], [2, 3], [8, 9], [0, 1], [10, 11], [2, 3]]
    rows.zero_()
    assert torch.equal(bank.bank, FILLED)


def test_beyond_the_limit_the_bank_is_a_mapped_file(monkeypatch):
    mapped = []
    memmap = np.memmap
    monkeypatch.setattr(np, "memmap", lambda *file, **settings: mapped.append(1) or memmap(*file, **settings))
    # Six rows of two numbers of four bytes are 48.
    filled(memory_limit=48e-9)
    assert len(mapped) == 0
    filled(memory_limit=47e-9)
    assert len(mapped) == 1


def test_momentum_goes_part_of_the_way():
    bank = filled(momentum=0.75)
    bank.observe(torch.tensor([0]), torch.tensor([[4.0, 5.0]]))
    assert bank.bank[0].tolist() == [1.0, 2.0]


def test_of_a_row_given_twice_the_last_counts():
    bank = filled()
    bank.observe(torch.tensor([2, 2, 3, 2]), torch.tensor([[1.0, 1], [2, 2], [3, 3], [4, 4]]))
    assert bank.bank[2:4].tolist() == [[4, 4], [3, 3]]


def test_normalised_embeddings_have_length_one_even_after_momentum():
    bank = filled(normalise=True, momentum=0.5)
    bank.observe(torch.tensor([1, 2]), torch.randn(2, 2, generator=seeded()))
    lengths = bank.bank.norm(dim=1)
    torch.testing.assert_close(lengths, torch.ones(6))


def test_refusals():
    with pytest.raises(InputError, match="the memory bank is empty: `fill` must be called"):
        empty().observe(torch.tensor([0]), torch.ones(1, 2))
    with pytest.raises(DataError, match=r"one embedding for each of 6 images; got \(5, 2\)"):
        empty().fill(torch.ones(5, 2))
    with pytest.raises(DivergedError, match="takes finite embeddings"):
        filled().observe(torch.tensor([0]), torch.tensor([[1.0, float("nan")]]))
