"""Pools and candidates: of the right classes, the right size and without repeats."""

import pytest

from fairground.samplers._class_draws import ClassRows, draw_candidates
from tests.samplers.splits import class_counts, even_split, seeded, uneven_split


def drawn_from(labels, pool, replace_classes=False, n_slots=4, per_class=2, seed=0):
    return draw_candidates(
        ClassRows(labels),
        pool=pool,
        n_candidates=5,
        n_slots=n_slots,
        per_class=per_class,
        replace_classes=replace_classes,
        generator=seeded(seed),
    )


@pytest.mark.parametrize("pool", [8, 20, 40, 48, 100])
def test_without_replacement_classes_are_even_and_rows_differ(pool):
    labels = even_split(n_classes=20, size=30)
    for seed in range(5):
        rows, batches = drawn_from(labels, pool, seed=seed)
        assert len(set(rows.tolist())) == len(rows) == pool
        counts = class_counts(labels, rows)
        assert max(counts.values()) - min(counts.get(c, 0) for c in range(20)) <= 2
        for batch in batches:
            assert list(class_counts(labels, rows[batch]).values()) == [2, 2, 2, 2]
            assert len(set(batch.tolist())) == 8


def test_with_replacement_a_class_may_come_up_again():
    labels = even_split(n_classes=6, size=30)
    repeats = 0
    for seed in range(10):
        rows, batches = drawn_from(labels, 24, replace_classes=True, seed=seed)
        assert len(set(rows.tolist())) == len(rows) <= 24
        repeats += sum(max(class_counts(labels, rows[batch]).values()) > 2 for batch in batches)
    assert repeats > 0


def test_small_classes_give_what_they_have():
    labels = uneven_split()
    rows, batches = drawn_from(labels, 200, n_slots=10, per_class=4)
    assert len(set(rows.tolist())) == len(rows)
    assert batches.shape == (5, 40)
    assert class_counts(labels, rows[batches[0]]) == dict.fromkeys(range(10), 4)
