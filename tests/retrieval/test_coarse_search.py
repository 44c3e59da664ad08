"""Counting with coarse scores gives the ranks of the plain way, bit for bit, whatever is near what."""

import numpy as np
import pytest
import torch

from fairground.evaluation import EmbeddingView
from fairground.retrieval import coarse_search, ranks
from fairground.retrieval.coarse_rows import coarse_rows, principal_axes, rounding_margin, spread_axes
from fairground.retrieval.summation_order import dot_in_order, summation_order
from fairground.retrieval.threads import single_threaded_blas
from fairground.retrieval.tiles import Tiles, multiply


def decaying(n, d, n_classes, *, power=1.0, seed=0):
    """Rows with a decaying spectrum and classes of a few."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(n_classes, size=n)
    scale = np.arange(1, d + 1) ** -power
    rows = draw.normal(size=(n_classes, d))[labels] + 1.2 * draw.normal(size=(n, d))
    return (rows * scale).astype(np.float32), labels


def places(view):
    return [(block.rows.tolist(), block.ranking.ranks.tolist()) for block in view.rankings()]


@pytest.fixture
def coarse(monkeypatch):
    """Count the coarse way whatever a sample says; the list holds how many principal coordinates were used."""
    used = []
    chosen = coarse_search.chosen_search

    def watched(*arguments, **others):
        search = chosen(*arguments, **others)
        used.append(None if search is None else search.left.first.shape[1])
        return search

    monkeypatch.setattr(coarse_search, "FEWEST_TILES", 4)
    monkeypatch.setattr(coarse_search, "WORTHWHILE", 1e9)
    monkeypatch.setattr(ranks, "chosen_search", watched)
    return used


def plainly(monkeypatch, *arguments, **others):
    with monkeypatch.context() as patch:
        patch.setattr(ranks, "chosen_search", lambda *_, **__: None)
        patch.setattr(ranks, "exact_order", lambda _: None)
        return places(EmbeddingView(*arguments, **others))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_ranks_are_those_of_the_plain_way(coarse, monkeypatch, power, threads):
    points, labels = decaying(1700, 208, 400, power=power)
    points[200:230] = points[7]
    points[900] = 0
    expected = plainly(monkeypatch, points, labels, threads=1)
    assert places(EmbeddingView(points, labels, threads=threads)) == expected
    assert set(coarse) <= set(coarse_search.FIRST)
    assert coarse


def test_near_ties_are_decided_by_the_very_bits(coarse, monkeypatch):
    points, labels = decaying(1600, 200, 300)
    draw = np.random.default_rng(1)
    # Copies moved by a few roundings: their scores differ in the last bits or not at all.
    points[800:] = points[:800] * (1 + 2.0**-23 * draw.integers(-2, 3, (800, 200))).astype(np.float32)
    assert places(EmbeddingView(points, labels)) == plainly(monkeypatch, points, labels)
    assert None not in coarse


def test_separate_references_query_rows_and_blocks(coarse, monkeypatch):
    points, labels = decaying(1700, 208, 300)
    others, other_labels = decaying(900, 208, 300, seed=3)
    sides = (others, other_labels, points, labels)
    assert places(EmbeddingView(*sides)) == plainly(monkeypatch, *sides)
    rows = np.arange(0, 1700, 2)
    some = plainly(monkeypatch, points, labels, query_rows=rows)
    assert places(EmbeddingView(points, labels, query_rows=rows)) == some
    in_blocks = places(EmbeddingView(points, labels, block=3000))
    assert len(in_blocks) > 1
    assert in_blocks == plainly(monkeypatch, points, labels, block=3000)
    assert None not in coarse


def test_the_plain_way_is_taken_where_coarse_counting_cannot_be_right_or_does_not_pay(coarse, monkeypatch):
    points, labels = decaying(1700, 208, 300)
    places(EmbeddingView(points, labels, normalise=False))
    places(EmbeddingView(points.astype(np.float64), labels))
    places(EmbeddingView(points, labels, groups=labels % 7))
    places(EmbeddingView(points, labels % 5))
    places(EmbeddingView(points[:, :64], labels))
    monkeypatch.setattr(coarse_search, "WORTHWHILE", 0.0)
    places(EmbeddingView(points, labels))
    monkeypatch.setattr(coarse_search, "WORTHWHILE", 1e9)
    monkeypatch.setattr(coarse_search, "summation_order", lambda *_: None)
    places(EmbeddingView(points, labels))
    assert coarse == [None] * 7


def test_exact_products_lie_within_the_bound():
    points, _ = decaying(1000, 256, 10, power=0.7)
    tiles = Tiles(points, np.arange(1000), 512, np.dtype(np.float32), True).in_memory()
    n_first = 32
    axes = spread_axes(principal_axes(tiles), n_first)
    rows = coarse_rows(tiles, axes, n_first, range(2), threads=1)
    left, right = slice(0, 512), slice(512, 1024)
    rest = (rows.rest[left].int() @ rows.rest[right].int().T).numpy()
    coarse_scores = rows.first[left] @ rows.first[right].T + rows.scale[left, None] * rows.scale[right] * rest
    exact = tiles.tile(0)[rows.order[left]].astype(float) @ tiles.tile(1)[rows.order[right]].astype(float).T
    bound = rows.error[left, None] * rows.length[right] + rows.length[left, None] * rows.error[right]
    assert (np.abs(coarse_scores - exact) <= bound + rounding_margin(256, n_first)).all()
    assert bound[:, :400].mean() < 0.01
    assert (np.diff(rows.length[:512]) <= 1e-3).all()


def test_a_pair_alone_has_the_bits_of_its_place_in_a_tile():
    draw = np.random.default_rng(5)
    left, right = draw.normal(size=(2, 400, 520)).astype(np.float32)
    product = np.empty((400, 400), np.float32)
    with single_threaded_blas():
        cuts = summation_order(400, 520)
        multiply(left, right, product)
    if cuts is None:  # a BLAS that sums in another order: the plain way is taken
        return
    for i, j in [(0, 0), (399, 399), (17, 391), (398, 3)]:
        assert dot_in_order(left, i, right, j, cuts) == product[i, j]


def test_short_products_are_tried_at_their_largest(monkeypatch):
    coarse_search.are_short_products_exact.cache_clear()
    monkeypatch.setattr(torch, "_int_mm", lambda a, b: torch.zeros(len(a), b.shape[1], dtype=torch.int32))
    assert not coarse_search.are_short_products_exact()
    coarse_search.are_short_products_exact.cache_clear()
