"""Counting with coarse scores gives the ranks of the plain way, bit for bit, whatever is near what."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairground.contracts.metric import Reach
from fairground.evaluation import EmbeddingView
from fairground.retrieval import coarse_search, ranks
from fairground.retrieval.coarse_rows import Widths, coarse_rows, principal_axes, rounding_margin
from fairground.retrieval.coarse_search import CoarseWay
from fairground.retrieval.ranks import rank
from fairground.retrieval.tiles import Tiles

WAYS = [
    CoarseWay(Widths(0, 48), is_listed=True),
    CoarseWay(Widths(0, 104), is_listed=True),
    CoarseWay(Widths(32, 32), is_listed=True),
    CoarseWay(Widths(16, 64), is_listed=True),
    CoarseWay(Widths(32, 32), is_listed=False),
    CoarseWay(Widths(16, 104), is_listed=False),
    CoarseWay(Widths(0, 104), is_listed=False),
]
LISTED = [way for way in WAYS if way.is_listed]


def decaying(n, n_classes, *, d=104, power=1.0, seed=0):
    """Rows with a decaying spectrum and classes of a few."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(n_classes, size=n)
    scale = np.arange(1, d + 1) ** -power
    rows = draw.normal(size=(n_classes, d))[labels] + 1.2 * draw.normal(size=(n, d))
    return (rows * scale).astype(np.float32), labels


def places(view, reach=None):
    """The places of all relevant references, by block; beyond the reach they are not told apart."""
    wanted = view.relevance
    spans = ranks.blocks(wanted.n_relevant, view.block)
    found = [rank(view.pairing, wanted.lists(*span), reach, threads=view.threads) for span in spans]
    return [(ranked.start, ranked.ranks.tolist(), ranked.scores.tolist()) for ranked in found]


@pytest.fixture
def force(monkeypatch):
    """Count one way whatever a sample says, in tiles of 64 rows; what it returns lists the ways that were taken."""
    monkeypatch.setattr("fairground.evaluation.arrangement.edge_for", lambda *_: 64)
    monkeypatch.setattr(coarse_search, "FEWEST_TILES", 4)
    monkeypatch.setattr(coarse_search, "FEWEST_TILES_UNLIMITED", 4)
    monkeypatch.setattr(coarse_search, "WORTHWHILE", 1e9)
    monkeypatch.setattr(ranks, "KEPT_BYTES", 2**17)
    chosen, taken = coarse_search.chosen_search, []

    def watched(*arguments, **others):
        search = chosen(*arguments, **others)
        taken.append(None if search is None else search.way)
        return search

    def use(*ways):
        taken.clear()
        monkeypatch.setattr(coarse_search, "_ways", lambda *_, **__: iter(ways))
        monkeypatch.setattr(ranks, "chosen_search", watched)
        return taken

    return use


def plainly(make, reach=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "exact_order", lambda *_, **__: None)
        return places(make(), reach)


def narrow(view, first=8):
    """The reach of recall@8 and MAP@R together."""
    n = view.relevance.n_relevant
    return Reach(np.maximum(n, first), n)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("power", [0.0, 0.7, 2.0])
def test_the_ranks_are_those_of_the_plain_way(force, way, power):
    points, labels = decaying(610, 130, power=power)
    points[200:230] = points[7]
    points[400] = 0
    make = partial(EmbeddingView, points, labels, threads=2)
    taken = force(way)
    assert places(make()) == plainly(make)
    if way.is_listed:
        assert places(make(), narrow(make())) == plainly(make, narrow(make()))
    assert set(taken) == {way}


@pytest.mark.parametrize("way", WAYS)
def test_near_ties_are_decided_by_the_very_bits(force, way):
    points, labels = decaying(600, 120)
    draw = np.random.default_rng(1)
    # Copies moved by a few roundings: their scores differ in the last bits or not at all.
    points[300:] = points[:300] * (1 + 2.0**-23 * draw.integers(-2, 3, (300, 104))).astype(np.float32)
    make = partial(EmbeddingView, points, labels, threads=1)
    taken = force(way)
    assert places(make()) == plainly(make)
    assert taken == [way]


@pytest.mark.parametrize("way", LISTED)
def test_groups_are_left_out(force, way):
    points, labels = decaying(500, 90)
    for rule in ("same_group", "same_class_and_group"):
        make = partial(EmbeddingView, points, labels, groups=np.arange(500) % 7, group_rule=rule)
        taken = force(way)
        assert places(make()) == plainly(make)
        assert places(make(), narrow(make())) == plainly(make, narrow(make()))
        assert taken == [way] * 2


@pytest.mark.parametrize("way", [WAYS[0], WAYS[3], WAYS[5]])
def test_separate_references_query_rows_and_blocks(force, way):
    points, labels = decaying(600, 100)
    others, other_labels = decaying(310, 100, seed=3)
    for make in (
        partial(EmbeddingView, others, other_labels, points, labels),
        partial(EmbeddingView, points, labels, query_rows=np.arange(0, 600, 2)),
        partial(EmbeddingView, points, labels, block=900),
    ):
        taken = force(way)
        assert places(make()) == plainly(make)
        assert places(make(), narrow(make())) == plainly(make, narrow(make()))
        assert way in taken


@given(
    seed=st.integers(0, 2**32 - 1), levels=st.integers(1, 3), n_classes=st.integers(1, 60), way=st.sampled_from(WAYS)
)
@settings(max_examples=25, deadline=None)
def test_few_distinct_coordinates_make_many_ties(seed, levels, n_classes, way):
    draw = np.random.default_rng(seed)
    points = draw.integers(-levels, levels + 1, (300, 104)) * (draw.random((300, 1)) < 0.95)
    points[:, draw.integers(1, 104) :] = 0
    labels = np.arange(300) % max(n_classes, 10)
    make = partial(EmbeddingView, points.astype(np.float32), labels, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairground.evaluation.arrangement.edge_for", lambda *_: 64)
        patch.setattr(coarse_search, "FEWEST_TILES", 4)
        patch.setattr(coarse_search, "FEWEST_TILES_UNLIMITED", 4)
        patch.setattr(coarse_search, "WORTHWHILE", 1e9)
        patch.setattr(coarse_search, "_ways", lambda *_, **__: iter([way]))
        assert places(make()) == plainly(make)
        if way.is_listed:
            assert places(make(), narrow(make(), 3)) == plainly(make, narrow(make(), 3))


def test_the_plain_way_is_taken_where_coarse_counting_cannot_be_right_or_does_not_pay(force, monkeypatch):
    points, labels = decaying(500, 90)
    taken = force(WAYS[0])
    places(EmbeddingView(points, labels, normalise=False))
    places(EmbeddingView(points.astype(np.float64), labels))
    places(EmbeddingView(points, labels % 5))
    places(EmbeddingView(points[:, :64], labels))
    assert taken == []
    monkeypatch.setattr(coarse_search, "WORTHWHILE", 0.0)
    places(EmbeddingView(points, labels))
    assert taken == [None]
    monkeypatch.setattr(coarse_search, "summation_order", lambda *_: None)
    places(EmbeddingView(points, labels))
    assert taken == [None]


def test_a_tiny_set_and_one_class_are_counted_plainly(force):
    taken = force(WAYS[0])
    for n in (2, 3, 70):
        points, _ = decaying(n, 1)
        make = partial(EmbeddingView, points, np.zeros(n, int))
        assert places(make()) == plainly(make)
    assert taken == []


@pytest.mark.parametrize("power", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("widths", [Widths(0, 256), Widths(0, 96), Widths(32, 256), Widths(32, 32), Widths(32, 128)])
def test_exact_products_lie_within_the_bound(widths, power):
    points, _ = decaying(500, 10, d=256, power=power)
    tiles = Tiles(points, np.arange(500), 256, np.dtype(np.float32), True).in_memory()
    rows = coarse_rows(tiles, principal_axes(tiles).spread(widths), widths, range(2), threads=1)
    left, right = slice(0, 256), slice(256, 512)

    def product(part):
        codes = part.codes.astype(np.int64)
        return part.scale[left, None] * part.scale[right] * (codes[left] @ codes[right].T)

    def lost(part):
        return part.error[left, None] * part.length[right] + part.length[left, None] * part.error[right]

    exact = tiles.tile(0)[rows.order[left]].astype(float) @ tiles.tile(1)[rows.order[right]].astype(float).T
    margin = rounding_margin(256, widths.first)
    coarse = rows.first[left] @ rows.first[right].T + product(rows.middle)
    rest = rows.rest.length[left, None] * rows.rest.length[right]
    assert (np.abs(coarse - exact) <= lost(rows.middle) + rest + margin).all()
    assert (np.abs(coarse + product(rows.rest) - exact) <= lost(rows.middle) + lost(rows.rest) + margin).all()
    assert lost(rows.middle).max() + lost(rows.rest).max() < 0.03
    assert sorted(rows.order[left]) == list(range(256))


def test_the_sample_decides_by_processor_time(force, monkeypatch):
    points, labels = decaying(500, 90)
    taken = force(*LISTED)
    monkeypatch.setattr(coarse_search, "WORTHWHILE", 0.9)
    # Two tiles plainly, then each way; the third is given up after one.
    seconds = iter([4.0, 4.0, 3.0, 4.0, 2.0, 2.0, 5.0, 3.0, 3.0])
    monkeypatch.setattr(coarse_search, "_seconds", lambda work, _=None: (work(), next(seconds))[1])
    make = partial(EmbeddingView, points, labels)
    assert places(make()) == plainly(make)
    assert taken == [LISTED[1]]
    assert list(seconds) == []


def test_short_products_are_tried_at_their_largest(monkeypatch):
    coarse_search.are_short_products_exact.cache_clear()
    monkeypatch.setattr(torch, "_int_mm", lambda a, b: torch.zeros(len(a), b.shape[1], dtype=torch.int32))
    assert not coarse_search.are_short_products_exact()
    coarse_search.are_short_products_exact.cache_clear()


@pytest.mark.parametrize(("is_unlimited", "power"), [(False, 0.0), (True, 2.0)])
def test_without_short_products_only_float32_ways_are_tried(monkeypatch, is_unlimited, power):
    points, labels = decaying(300, 90, power=power)
    axes = principal_axes(EmbeddingView(points, labels).pairing.references)
    monkeypatch.setattr(coarse_search, "are_short_products_exact", lambda: False)
    ways = list(coarse_search._ways(axes, is_unlimited=is_unlimited, has_groups=False))
    assert ways
    assert all(way.widths.first == way.widths.total for way in ways)


def test_whole_lists_leave_out_coordinates_only_where_little_is_lost():
    def totals(power):
        points, labels = decaying(300, 90, power=power)
        axes = principal_axes(EmbeddingView(points, labels).pairing.references)
        np.testing.assert_allclose(axes.shares.sum(), 1)
        return {way.widths.total for way in coarse_search._ways(axes, is_unlimited=True, has_groups=False)}

    assert totals(0.0) <= {104}
    assert 26 in totals(2.0)


def test_a_slow_way_is_timed_once_and_another_by_its_best_of_two(monkeypatch):
    clock = iter([0.0, 5.0, 10.0, 13.0, 0.0, 5.0])
    monkeypatch.setattr(coarse_search.time, "thread_time", lambda: next(clock))
    assert coarse_search._seconds(lambda: None) == 3.0
    assert coarse_search._seconds(lambda: None, 4.0) == 5.0
