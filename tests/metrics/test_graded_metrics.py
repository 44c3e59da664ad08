"""Metrics of graded relevance against their definitions in loops, and against the values of the authors of H-AP."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from fairground import metrics
from tests.metrics.oracle import ranking

FIELD = json.loads(Path(__file__).parents[1].joinpath("losses/field_fixtures.json").read_text(encoding="utf-8"))
STORED = FIELD["cases"]["metrics_without_query"]


def acg(grades, k):
    return sum(grades[:k]) / k


def weighted_map(grades):
    places = [k for k, grade in enumerate(grades, 1) if grade]
    return sum(acg(grades, k) for k in places) / len(places)


def ndcg(grades, k):
    def total(some):
        return sum(grade / math.log2(place + 1) for place, grade in enumerate(some[:k], 1))

    return total(grades) / total(sorted(grades, reverse=True))


def hierarchical_ap(grades):
    worth = [grade / grades.count(grade) for grade in grades]
    terms = [sum(min(w, worth[k - 1]) for w in worth[:k]) / k for k in range(1, len(worth) + 1)]
    return sum(terms) / sum(worth)


def level_ap(grades, wanted):
    left = [grade for grade in grades if grade <= wanted]
    places = [k for k, grade in enumerate(left, 1) if grade == wanted]
    return sum(left[:k].count(wanted) / k for k in places) / max(1, len(places))


def asi(grades):
    best = sorted(grades, reverse=True)
    kinds = {grade for grade in grades if grade}
    depths = range(1, sum(grade > 0 for grade in grades) + 1)
    return sum(sum(min(grades[:k].count(g), best[:k].count(g)) for g in kinds) / k for k in depths) / len(depths)


DEFINITIONS = [
    (metrics.AcgMetric(k=4), lambda grades: acg(grades, 4)),
    (metrics.AcgMetric(k=1000), lambda grades: sum(grades) / 1000),
    (metrics.WeightedMapMetric(), weighted_map),
    (metrics.NdcgMetric(), lambda grades: ndcg(grades, len(grades))),
    (metrics.NdcgMetric(k=3), lambda grades: ndcg(grades, 3)),
    (metrics.HierarchicalApMetric(), hierarchical_ap),
    (metrics.AsiMetric(), asi),
    (metrics.LevelApMetric(), lambda grades: level_ap(grades, 1)),
]


@pytest.mark.parametrize(("metric", "definition"), DEFINITIONS)
def test_agrees_with_its_definition(metric, definition):
    draw = random.Random(5)
    lists = [[draw.choice([0, 0, 0.2, 0.5, 1.0]) for _ in range(draw.randint(6, 30))] + [0.5] for _ in range(200)]
    np.testing.assert_allclose(metric.per_query(ranking(lists)), [definition(grades) for grades in lists], rtol=1e-12)


@pytest.mark.parametrize(("metric", "definition"), DEFINITIONS)
def test_where_relevance_is_yes_or_no_a_grade_of_one_changes_nothing(metric, definition):
    draw = random.Random(6)
    lists = [[draw.random() < 0.3 for _ in range(20)] for _ in range(50)] + [[False] * 20]
    graded = [[1.0 if is_hit else 0 for is_hit in hits] for hits in lists]
    plain = metric.per_query(ranking(lists))
    np.testing.assert_allclose(metric.per_query(ranking(graded)), plain, rtol=1e-12)
    assert plain[-1] == 0


@pytest.mark.parametrize(
    ("name", "metric", "tolerance"),
    [
        ("hap", metrics.HierarchicalApMetric(), 1e-12),
        ("asi", metrics.AsiMetric(), 1e-12),
        # That code takes its logarithms in float32.
        ("ndcg", metrics.NdcgMetric(), 1e-7),
    ],
)
def test_three_levels_score_as_in_the_authors_code(name, metric, tolerance):
    evidence = ranking([[level / 3 for level in levels] for levels in STORED["levels"]], n_levels=3)
    np.testing.assert_allclose(metric.per_query(evidence), STORED[name], atol=tolerance)


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_nearer_kin_leave_the_list_of_a_wider_level(level):
    draw = random.Random(7)
    lists = [[draw.choice([0, 1 / 3, 2 / 3, 1.0]) for _ in range(25)] for _ in range(100)]
    expected = [level_ap(grades, (4 - level) / 3) if level < 4 else 0 for grades in lists]
    found = metrics.LevelApMetric(level=level).per_query(ranking(lists, n_levels=3))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_by_hand():
    # A reference of the super-class first, then one of the class, then a stranger: two levels.
    evidence = ranking([[0.5, 1.0, 0]], n_levels=2)
    assert metrics.AcgMetric(k=3).per_query(evidence) == pytest.approx(0.5)
    assert metrics.WeightedMapMetric().per_query(evidence) == pytest.approx((0.5 + 0.75) / 2)
    # The class is second; without it the super-class is first.
    assert metrics.LevelApMetric().per_query(evidence) == pytest.approx(0.5)
    assert metrics.LevelApMetric(level=2).per_query(evidence) == pytest.approx(1)
    # Worth 0.5 and 1: (0.5 + (0.5 + 1) / 2) / 1.5.
    assert metrics.HierarchicalApMetric().per_query(evidence) == pytest.approx(1.25 / 1.5)
    # The best list begins with the class: nothing shared at depth 1, all at depth 2.
    assert metrics.AsiMetric().per_query(evidence) == pytest.approx(0.5)
    # Gains 1 and 3.
    gain, best = 1 + 3 / math.log2(3), 3 + 1 / math.log2(3)
    assert metrics.NdcgMetric().per_query(evidence) == pytest.approx(gain / best)
