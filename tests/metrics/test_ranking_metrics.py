"""Every ranking metric against its definition in loops, on random lists, and against values a reader can check."""

import math
import random

import numpy as np
import pytest

from fairground import metrics
from tests.metrics.oracle import average_precision, hits_at, precision_at, ranking


def ndcg(hits, k):
    gain = sum(1 / math.log2(place + 1) for place, is_hit in enumerate(hits[:k], 1) if is_hit)
    return gain / sum(1 / math.log2(place + 1) for place in range(1, min(k, sum(hits)) + 1))


DEFINITIONS = [
    (metrics.RecallMetric(k=3), lambda hits, r: float(any(hits[:3]))),
    (metrics.RecallMetric(k=1000), lambda hits, r: 1.0),
    (metrics.PrecisionMetric(k=4), lambda hits, r: precision_at(hits, 4)),
    (metrics.PrecisionMetric(k=1000), lambda hits, r: r / 1000),
    (metrics.RPrecisionMetric(), precision_at),
    (metrics.MapAtRMetric(), lambda hits, r: average_precision(hits, r) / r),
    (metrics.MapMetric(), lambda hits, r: average_precision(hits, len(hits)) / r),
    (metrics.MapMetric(limit=5), lambda hits, r: average_precision(hits, 5) / (r + 1)),
    (metrics.MapMetric(limit=5, divisor="relevant"), lambda hits, r: average_precision(hits, 5) / r),
    (metrics.MapAtCMetric(), lambda hits, r: average_precision(hits, r + 1) / (r + 1)),
    (metrics.PrecisionAtCMetric(), lambda hits, r: sum(hits[: r + 1]) / (r + 1)),
    (metrics.MrrMetric(), lambda hits, r: 1 / (hits.index(True) + 1)),
    (metrics.NdcgMetric(), lambda hits, r: ndcg(hits, len(hits))),
    (metrics.NdcgMetric(k=3), lambda hits, r: ndcg(hits, 3)),
]


@pytest.mark.parametrize(("metric", "definition"), DEFINITIONS)
def test_agrees_with_its_definition(metric, definition):
    draw = random.Random(5)
    lists = [[draw.random() < 0.3 for _ in range(draw.randint(6, 30))] + [True] for _ in range(200)]
    expected = [definition(hits, sum(hits)) for hits in lists]
    np.testing.assert_allclose(metric.per_query(ranking(lists)), expected, rtol=1e-14)


@pytest.mark.parametrize("metric", [metric for metric, _ in DEFINITIONS])
def test_a_query_with_nothing_to_find_has_zero(metric):
    lists = [hits_at({1}, 4), hits_at(set(), 4), hits_at({4}, 4), hits_at(set(), 4)]
    values = metric.per_query(ranking(lists))
    assert values[1] == values[3] == 0
    assert np.isfinite(values).all()


# Musgrave et al., table 3: ten relevant references; Recall@1 cannot tell the four apart.
@pytest.mark.parametrize(
    ("places", "r_precision", "map_at_r"),
    [({1}, 0.10, 0.10), ({1, 10}, 0.20, 0.12), ({1, 2}, 0.20, 0.20), (set(range(1, 11)), 1.0, 1.0)],
)
def test_table_three_of_the_reality_check(places, r_precision, map_at_r):
    late = {90 + k for k in range(10 - len(places))}
    evidence = ranking([hits_at(places | late, 120)])
    assert metrics.RecallMetric(k=1).per_query(evidence) == 1
    assert metrics.RPrecisionMetric().per_query(evidence) == pytest.approx(r_precision)
    assert metrics.MapAtRMetric().per_query(evidence) == pytest.approx(map_at_r)


def test_a_perfect_embedding_scores_three_quarters_on_classes_of_four_in_roths_count():
    evidence = ranking([hits_at({1, 2, 3}, 50)])
    assert metrics.MapAtRMetric().per_query(evidence) == 1
    assert metrics.MapAtCMetric().per_query(evidence) == 0.75
    assert metrics.PrecisionAtCMetric().per_query(evidence) == 0.75
    assert metrics.MapMetric(limit=1000).per_query(evidence) == 0.75
    assert metrics.MapMetric().per_query(evidence) == 1


def test_ndcg_by_hand():
    # Hits at 2 and 3 of two relevant: (1/log2(3) + 1/log2(4)) / (1 + 1/log2(3)).
    value = metrics.NdcgMetric(k=10).per_query(ranking([hits_at({2, 3}, 5)]))
    assert value == pytest.approx((0.6309297536 + 0.5) / 1.6309297536)
