import numpy as np
import pytest

from fairground.deploy import live_rows
from fairground.deploy import search as module
from fairground.deploy.search import search
from fairground.errors import FairgroundError


def slow(queries, rows, k, is_raw):
    numbers, values = [], []
    for query in queries.astype(np.float64):
        found = [-np.linalg.norm(query - row) if is_raw else float(query @ row) for row in rows.astype(np.float64)]
        order = sorted(range(len(rows)), key=lambda row: (-found[row], row))[:k]
        numbers.append(order)
        values.append([found[row] for row in order])
    return np.array(numbers), np.array(values)


@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("n_queries", [1, 7])
def test_it_agrees_with_a_slow_loop_over_several_blocks(monkeypatch, is_raw, n_queries):
    monkeypatch.setattr(live_rows, "BLOCK", 16)
    monkeypatch.setattr(module, "QUERIES", 3)
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(50, 6)).astype(np.float32)
    queries = generator.normal(size=(n_queries, 6)).astype(np.float32)
    found = search(queries, rows, 5, is_raw=is_raw)
    numbers, values = slow(queries, rows, 5, is_raw)
    assert np.array_equal(found.numbers, numbers)
    assert np.allclose(found.similarities, values, atol=1e-5)


def test_equal_similarities_come_in_order_of_number():
    rows = np.tile(np.array([[1.0, 0.0]], np.float32), (200, 1))
    assert search(rows[:1], rows, 4).numbers.tolist() == [[0, 1, 2, 3]]


def test_edges_and_refusals():
    rows = np.eye(3, dtype=np.float32)
    assert search(rows[:1], rows, 10).numbers.tolist() == [[0, 1, 2]]
    assert search(rows[:0], rows, 2).numbers.shape == (0, 2)
    with pytest.raises(FairgroundError, match="k must be at least 1; got 0"):
        search(rows, rows, 0)
    with pytest.raises(FairgroundError, match=r"queries must be \(q, 3\)"):
        search(rows[:, :2], rows, 1)
