"""Over seeds, over classes, over both: each kind of generality errs only about its own question."""

import numpy as np
import pytest
from scipy import stats

from fairground.comparison import CAUTION, generality_of


def study(random, k, n_seeds, n_classes, *, seeds, classes, rest, lead=0.0):
    """Return per-class means: every run has a luck of its own, every method classes that suit it."""
    x = (
        random.normal(size=(1, 1, n_classes))
        + seeds * random.normal(size=(k, n_seeds, 1))
        + classes * random.normal(size=(k, 1, n_classes))
        + rest * random.normal(size=(k, n_seeds, n_classes))
    )
    x[0] += lead
    return {f"m{i}": {s: x[i, s] for s in range(n_seeds)} for i in range(k)}


def test_two_methods_over_classes_are_a_paired_t_test_of_class_means():
    data = study(np.random.default_rng(0), 2, 3, 30, seeds=0.1, classes=0.5, rest=0.2)
    a, b = (np.mean(list(data[name].values()), axis=0) for name in ("m0", "m1"))
    (pair,) = generality_of(data).classes.pairs
    theirs = stats.ttest_rel(a, b) if pair.a == "m0" else stats.ttest_rel(b, a)
    assert pair.p == pytest.approx(min(1.0, theirs.pvalue / CAUTION), rel=0.05)
    span = theirs.confidence_interval(1 - CAUTION * 0.05)
    assert (pair.low, pair.high) == (pytest.approx(span.low, rel=0.04), pytest.approx(span.high, rel=0.04))


def test_both_is_wider_than_either():
    found = generality_of(study(np.random.default_rng(1), 4, 3, 20, seeds=0.3, classes=0.5, rest=0.3))
    for pair in found.both.pairs:
        singles = (found.seeds.pair(pair.a, pair.b), found.classes.pair(pair.a, pair.b))
        assert pair.high - pair.low >= max(one.high - one.low for one in singles)
        assert pair.p >= max(one.p for one in singles)
        assert pair.difference == pytest.approx(singles[0].difference)
    assert found.n_classes == 20


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(
    ("seeds", "classes", "rest", "wrong_over"), [(0.3, 0.05, 0.5, "classes"), (0.02, 1.0, 0.2, "seeds")]
)
def test_only_both_keeps_its_rate_where_runs_and_classes_are_drawn(seeds, classes, rest, wrong_over):
    random = np.random.default_rng(2)
    n_studies = 100
    wrong = {"seeds": 0, "classes": 0, "both": 0}
    for _ in range(n_studies):
        found = generality_of(study(random, 3, 3, 30, seeds=seeds, classes=classes, rest=rest))
        for kind in wrong:
            wrong[kind] += any(pair.verdict == "better" for pair in getattr(found, kind).pairs)
    assert wrong["both"] / n_studies <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_studies)
    assert wrong[wrong_over] / n_studies > 0.5


SOME = {"a": {0: [1.0, 0.0, 0.5], 1: [0.9, 0.1, 0.4]}, "b": {0: [0.5, 0.5, 0.5], 1: [0.4, 0.6, 0.5]}}


def test_classes_count_by_their_queries():
    found = generality_of(SOME, weights=[2, 1, 1])
    assert found.seeds.estimates["a"].mean == pytest.approx((0.625 + 0.575) / 2)
