"""Ranks against plain loops, and the promise that neither blocks nor threads nor places change a digit."""

import threading

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from fairground.evaluation import EmbeddingView
from fairground.retrieval import EDGE, SearchPlan, Tiles, edge_for, find_duplicate_rows, normalise_rows
from fairground.retrieval.threads import share_out, single_threaded_blas
from tests.metrics.oracle import hit_lists


def lattice(n, n_classes, d, seed=0):
    """Points with whole coordinates: distances are exact in floating point, and many are equal."""
    draw = np.random.default_rng(seed)
    return draw.integers(-3, 4, (n, d)).astype(np.float32), draw.integers(n_classes, size=n)


def gaussian(n, n_classes, d, seed=0):
    draw = np.random.default_rng(seed)
    labels = draw.integers(n_classes, size=n)
    return (draw.normal(size=(n_classes, d))[labels] + 1.5 * draw.normal(size=(n, d))).astype(np.float32), labels


def places(view):
    """The places of each query's relevant references, by query."""
    found = [None] * view.n_queries
    for rows, ranking in view.rankings():
        for k, row in enumerate(rows):
            found[row] = ranking.ranks[ranking.offsets[k] : ranking.offsets[k + 1]].tolist()
    return found


def expected(points, labels, **others):
    n = len(points)
    lists = hit_lists(points, points, lambda i, j: labels[i] == labels[j], own=range(n), unit=False, **others)
    return [[place for place, is_hit in enumerate(hits, 1) if is_hit] for hits in lists]


# 40 and 300: one tile and several; 3 classes of 300 and one class of 130: many relevant references, found by table.
@pytest.mark.parametrize(("n", "n_classes", "d"), [(40, 7, 3), (300, 90, 4), (300, 3, 2), (130, 1, 3), (540, 5, 2)])
def test_agrees_with_a_loop_where_many_distances_are_equal(n, n_classes, d):
    points, labels = lattice(n, n_classes, d)
    assert places(EmbeddingView(points, labels, normalise=False)) == expected(points, labels)


def test_one_set_and_two_equal_sets_rank_alike():
    points, labels = lattice(700, 40, 3)
    rows = np.arange(0, 700, 7)
    whole = places(EmbeddingView(points, labels, normalise=False))
    some = places(EmbeddingView(points, labels, normalise=False, query_rows=rows))
    assert some == [whole[row] for row in rows]


@pytest.mark.parametrize("d", [1, 7, 128, 500, 4096])
@pytest.mark.parametrize("n_kinds", [40, 900])
def test_equal_rows_score_equally_wherever_they_stand(d, n_kinds):
    draw = np.random.default_rng(d)
    kind = np.arange(2000) % n_kinds
    rows = draw.normal(size=(n_kinds, d)).astype(np.float32)[kind]
    tiles = Tiles(
        rows, np.arange(2000, dtype=np.int32), edge_for(2000), np.dtype(np.float32), normalise_rows
    ).in_memory()
    duplicates = find_duplicate_rows(tiles, tiles)
    assert duplicates.are_few == (n_kinds < EDGE or d == 1)  # in one dimension there are two directions
    plan = SearchPlan(queries=tiles, references=tiles, is_one_set=True, own=np.full(2000, -1), duplicates=duplicates)
    worker = plan.worker()
    for row in range(tiles.n_tiles):
        columns = range(tiles.n_tiles)
        scores = np.concatenate([plan.fresh_scores(row, column, worker).copy() for column in columns], axis=1)
        assert (scores[:, :2000] == scores[:, :n_kinds][:, kind]).all()


# float64 for many kinds: in float32 some two of them come nearer to each other than its rounding.
@pytest.mark.parametrize(("n_kinds", "dtype"), [(30, np.float32), (550, np.float64)])
def test_equal_embeddings_are_ranked_by_index(n_kinds, dtype):
    draw = np.random.default_rng(0)
    kind = draw.permutation(1200) % n_kinds
    kinds = draw.normal(size=(n_kinds, 96)).astype(dtype)
    labels = draw.integers(20, size=1200)
    unit = kinds.astype(np.float64) / np.linalg.norm(kinds.astype(np.float64), axis=1, keepdims=True)
    similarity = (unit @ unit.T)[np.ix_(kind, kind)]
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :-1]
    wanted = [(np.flatnonzero(labels[order[row]] == labels[row]) + 1).tolist() for row in range(1200)]
    for block in (None, 9000):
        assert places(EmbeddingView(kinds[kind], labels, threads=2, block=block)) == wanted


@pytest.mark.parametrize("is_raw", [True, False])
def test_counting_on_a_device_agrees(is_raw, monkeypatch):
    points, labels = lattice(230, 9, 3)
    groups = np.arange(230) % 4
    monkeypatch.setattr("fairground.retrieval.ranks_on_device.N_SCORES", 1000)
    # Powers of two keep unit lengths exact as well.
    rows = points if is_raw else np.eye(4, dtype=np.float32)[np.arange(230) % 4] * 2
    for settings in ({}, {"groups": groups}, {"query_rows": np.arange(5, 200, 3)}):
        in_memory, on_device = (EmbeddingView(rows, labels, normalise=not is_raw, **settings) for _ in range(2))
        on_device.device = torch.device("cpu")  # as for a tensor on an accelerator
        assert places(in_memory) == places(on_device)


def test_all_embeddings_equal_are_ranked_by_index():
    labels = np.array([0, 1, 0, 1, 0])
    view = EmbeddingView(np.ones((5, 3), np.float32), labels)
    # Query 0 sees 1, 2, 3, 4; query 4 sees 0, 1, 2, 3.
    assert places(view) == [[2, 4], [3], [1, 4], [2], [1, 3]]


def test_float16_ranks_as_the_numbers_it_holds():
    points, labels = lattice(90, 8, 4)
    half = EmbeddingView(points.astype(np.float16), labels, normalise=False)
    assert places(half) == expected(points, labels)


@pytest.mark.parametrize("threads", [1, 2])
def test_nearest_agree_with_a_sort_where_many_distances_are_equal(threads):
    points, labels = lattice(600, 20, 3)
    distances = ((points[:, None] - points) ** 2).sum(-1)
    np.fill_diagonal(distances, np.inf)
    wanted = np.argsort(distances, axis=1, kind="stable")[:, :9]
    view = EmbeddingView(points, labels, normalise=False, threads=threads)
    assert (view.neighbour_numbers(9) == wanted).all()


def test_fewer_references_than_asked_for_leave_places_empty():
    view = EmbeddingView(np.eye(3), np.array([0, 1, 0]))
    assert view.neighbour_numbers(4).tolist() == [[1, 2, -1, -1], [0, 2, -1, -1], [0, 1, -1, -1]]


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_overlapping_callers_leave_blas_as_they_found_it():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded_blas():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with single_threaded_blas():
        thread.start()
        entered.wait()
    assert set(blas_threads()) == {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


def test_a_failing_task_fails_the_call():
    def work(task, workspace):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        share_out(range(3), list, work, 2)
