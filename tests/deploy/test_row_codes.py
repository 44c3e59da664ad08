"""Bounds of 8-bit codes hold for every row, and never leave out a neighbour."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairground.deploy.live_rows import LiveRows, RowPart
from fairground.deploy.search import search
from fairground.retrieval.row_codes import (
    RowCodes,
    bound_scores,
    empty_codes,
    encode_query,
    encode_rows,
    exact_scores,
)


def coded(rows: np.ndarray) -> RowCodes:
    codes = empty_codes(*rows.shape)
    encode_rows(rows, codes)
    return codes


@pytest.mark.parametrize("is_raw", [False, True])
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-20, 1e-3, 1.0, 1e6, 1e15]), width=st.integers(1, 700))
@settings(max_examples=60, deadline=None)
def test_every_score_lies_between_its_bounds(is_raw, seed, scale, width):
    draw = np.random.default_rng(seed)
    rows = (scale * draw.standard_t(2, size=(40, width))).astype(np.float32)
    rows[3] = 0
    query = (draw.normal(size=width) * draw.choice([0, 1, scale])).astype(np.float32)
    code = encode_query(query)
    upper, best = np.empty(40, np.float32), np.full(40, -np.inf)
    codes = coded(rows)
    every = np.empty(0, np.bool_)
    bound_scores(codes.codes, codes.bounds, every, tuple(code), is_raw, 0, 40, upper, best)
    exact = rows.astype(np.float64) @ query.astype(np.float64)
    if is_raw:
        exact -= (rows.astype(np.float64) ** 2).sum(1) / 2
    margin = 1e-6 * (np.linalg.norm(query.astype(np.float64)) + np.linalg.norm(rows.astype(np.float64), axis=1)) ** 2
    margin += 1e-34  # what single precision loses near 0
    assert (exact <= upper + margin).all()
    # The sorted lower bounds lie below the sorted scores, one by one.
    assert (np.sort(best) <= np.sort(exact) + margin.max()).all()


def test_a_score_depends_on_its_row_and_query_alone():
    draw = np.random.default_rng(0)
    rows, query = draw.normal(size=(500, 37)).astype(np.float32), draw.normal(size=37).astype(np.float32)
    for is_raw in (False, True):
        every = exact_scores(query, rows, np.arange(500), is_raw)
        alone = [
            exact_scores(query, rows[row : row + 1].copy(), np.zeros(1, np.int64), is_raw)[0] for row in range(500)
        ]
        assert np.array_equal(every, alone)
    assert exact_scores(rows[0], rows, np.zeros(1, np.int64), True)[0] == 0


@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("kind", ["spread", "equal", "near", "zero", "long"])
def test_codes_and_products_find_the_same_digits(is_raw, kind):
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(700, 24)).astype(np.float32)
    if kind == "equal":
        rows[:] = rows[0]
    if kind == "near":
        # Differences below what a product in single precision can tell apart.
        rows[:] = rows[0] + 1e-7 * rows
    if kind == "zero":
        rows[:] = 0
    if kind == "long":
        rows *= np.float32(1e18)
    queries = np.concatenate([rows[:2], draw.normal(size=(2, 24)).astype(np.float32)])
    plain = search(queries, rows, 9, is_raw=is_raw)
    held = LiveRows([RowPart(rows, coded(rows))], 24)
    for number in range(4):
        one = search(queries[number : number + 1], held, 9, is_raw=is_raw)
        assert np.array_equal(one.numbers[0], plain.numbers[number])
        assert np.array_equal(one.similarities[0], plain.similarities[number])
        scores = exact_scores(queries[number], rows, np.arange(700), is_raw)
        assert plain.numbers[number].tolist() == sorted(range(700), key=lambda row, s=scores: (-s[row], row))[:9]
