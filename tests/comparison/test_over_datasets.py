"""Over data sets: ranks by hand and against SciPy, intervals that cover, refusals."""

import numpy as np
import pytest
from scipy import stats

from fairground.comparison import ranks_of
from fairground.comparison.over_datasets import over_datasets
from fairground.errors import InputError


def scores(random, n_datasets, k, n, lead):
    base = random.uniform(0.2, 0.8, size=(n_datasets, 1, 1))
    own = 0.02 * random.normal(size=(n_datasets, k, 1))
    return base + own + np.linspace(lead, 0, k)[:, None] + 0.02 * random.normal(size=(n_datasets, k, n))


def study(random, n_datasets, k, n, lead):
    x = scores(random, n_datasets, k, n, lead)
    return {f"d{d}": {f"m{i}": dict(enumerate(x[d, i].tolist())) for i in range(k)} for d in range(n_datasets)}


def test_ranks_by_hand():
    values = {
        "x": {"a": {0: 0.9, 1: 0.8}, "b": {0: 0.5, 1: 0.5}, "c": {0: 0.5, 1: 0.5}},
        "y": {"a": {0: 0.3, 1: 0.3}, "b": {0: 0.4, 1: 0.4}, "c": {0: 0.1, 1: 0.1}},
    }
    found = over_datasets(values)
    # The ranks of a are 1 and 2, those of b 2.5 and 1, those of c 2.5 and 3.
    assert {one.name: one.rank for one in found.aggregates} == {"a": 1.5, "b": 1.75, "c": 2.75}
    assert [one.name for one in found.aggregates] == ["a", "b", "c"]
    assert all(1 <= one.rank_low <= one.rank <= one.rank_high <= 3 for one in found.aggregates)
    lower = over_datasets(values, higher_is_better=False)
    assert {one.name: one.rank for one in lower.aggregates} == {"a": 2.5, "b": 2.25, "c": 1.25}


@pytest.mark.usefixtures("few_draws")
def test_rank_intervals_of_all_methods_cover_at_once():
    random = np.random.default_rng(2)
    truth = ranks_of(scores(random, 20_000, 4, 3, 0.04).mean(axis=2)).mean(axis=0)
    n_studies = 40
    covered = 0
    for _ in range(n_studies):
        found = over_datasets(study(random, 6, 4, 3, 0.04))
        covered += all(one.rank_low <= truth[int(one.name[1])] <= one.rank_high for one in found.aggregates)
    assert covered / n_studies >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / n_studies)


def test_refusals():
    one = {"a": {0: 1.0, 1: 2.0}, "b": {0: 1.0, 1: 2.0}}
    with pytest.raises(InputError, match="at least 2 of them; got 1"):
        over_datasets({"x": one})
    with pytest.raises(InputError, match="every method needs runs on every data set; on 'y'"):
        over_datasets({"x": one, "y": {"a": {0: 1.0, 1: 2.0}}})


def test_ranks_against_scipy():
    table = np.random.default_rng(1).normal([0, 0.5, 1, 0.2], size=(9, 4))
    for scores_of in (table, np.round(table)):
        assert np.array_equal(ranks_of(scores_of), stats.rankdata(-scores_of, axis=1))
