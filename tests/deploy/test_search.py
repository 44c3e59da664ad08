import numpy as np
import pytest

from fairground.deploy import search as module
from fairground.deploy.search import search
from fairground.errors import FairgroundError


def slow(queries, rows, k, is_raw, removed=()):
    numbers, values = [], []
    for query in queries.astype(np.float64):
        found = [-np.linalg.norm(query - row) if is_raw else float(query @ row) for row in rows.astype(np.float64)]
        order = sorted(set(range(len(rows))) - set(removed), key=lambda row: (-found[row], row))[:k]
        numbers.append(order)
        values.append([found[row] for row in order])
    return np.array(numbers), np.array(values)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("n_queries", [1, 7])
def test_it_agrees_with_a_slow_loop_over_several_blocks(monkeypatch, is_raw, n_queries, threads):
    monkeypatch.setattr(module, "BLOCK", 16)
    monkeypatch.setattr(module, "QUERIES", 3)
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(50, 6)).astype(np.float32)
    rows = rows if is_raw else rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows[30:34] = rows[11]
    removed = np.array([0, 12, 13, 31, 49])
    queries = np.concatenate([rows[11:12], generator.normal(size=(n_queries - 1, 6)).astype(np.float32)])
    found = search(queries, rows, 5, is_raw=is_raw, removed=removed, threads=threads)
    numbers, values = slow(queries, rows, 5, is_raw, removed)
    assert found.numbers[0, :4].tolist() == [11, 30, 32, 33]
    assert np.array_equal(found.numbers, numbers)
    assert np.allclose(found.similarities, values, atol=1e-5)


def test_edges_and_refusals():
    rows = np.eye(3, dtype=np.float32)
    assert search(rows[:1], rows, 10).numbers.tolist() == [[0, 1, 2]]
    assert search(rows[:1], rows, 10, removed=np.array([0, 2])).numbers.tolist() == [[1]]
    assert search(rows[:1], rows, 2, forbid=lambda _, columns: np.array([[True, True, False]])).numbers.tolist() == [
        [2, -1]
    ]
    assert search(rows[:0], rows, 2).numbers.shape == (0, 2)
    with pytest.raises(FairgroundError, match="k must be at least 1; got 0"):
        search(rows, rows, 0)
    with pytest.raises(FairgroundError, match=r"queries must be \(q, 3\)"):
        search(rows[:, :2], rows, 1)
