"""Error rates and power over simulated studies whose truth is known: the quick version of benchmarks/verdicts.

A rate of 5 % over 2,000 studies has a standard deviation of 0.49 %. The rates promised are upper bounds and the true
ones are below; the seeds are fixed.
"""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import verdicts
from fairground.comparison.compare_values import compare_values
from fairground.records.record import Score
from fairground.reporting.result_table import ResultTable
from fairground.spec.study_spec import UntilSettledSpec as Plan
from tests.records.factory import make_record

EQUAL, UNEQUAL = verdicts.SHAPES[0], verdicts.SHAPES[3]


@pytest.mark.parametrize("shape", verdicts.SHAPES)
@pytest.mark.parametrize(("k", "n"), [(4, 3), (4, 10), (8, 5), (16, 3), (31, 3)])
def test_equal_methods_are_called_better_in_at_most_one_of_twenty_studies(k, n, shape):
    assert verdicts.false_better(k, n, shape, n_studies=2000) <= 0.05


@pytest.mark.parametrize("k", verdicts.METHODS)
def test_three_seeds_separate_the_worst_from_the_best(k):
    assert verdicts.power(k, 3, EQUAL, n_studies=1000) >= 0.85
    sizes = verdicts.deviations(k, UNEQUAL)
    assert verdicts.power(k, 3, UNEQUAL, unit=float(np.sqrt((sizes**2).mean())), n_studies=1000) >= 0.70
    assert verdicts.power(k, 5, EQUAL, n_studies=1000) >= 0.99


@pytest.mark.parametrize("shape", [EQUAL, UNEQUAL])
@pytest.mark.parametrize(("k", "n"), [(2, 10), (4, 5), (8, 10)])
def test_a_difference_of_the_margin_is_hardly_ever_called_equivalent(k, n, shape):
    wrong, _ = verdicts.false_equivalent(k, n, shape, 2.0, n_studies=2000)
    assert wrong <= 0.05
    assert verdicts.false_equivalent(4, 10, EQUAL, 3.0, n_studies=500)[1] > 0.9


@pytest.mark.usefixtures("few_draws")
def test_the_seeds_advised_settle_four_of_five_open_pairs():
    share, _ = verdicts.settled_after_more(4, 3, EQUAL, apart=5.0, n_studies=60)
    assert share >= 0.8


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("shape", [EQUAL, UNEQUAL])
def test_waves_keep_the_rate_of_errors(shape):
    plan = Plan(first=3, wave=3, limit=9)
    wrong, _, seeds = verdicts.in_waves(4, 0.0, shape, plan, n_studies=200)
    # Three standard deviations of a share of 200 studies above the rate.
    assert wrong <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert seeds > 8.5


@pytest.mark.usefixtures("few_draws")
def test_waves_find_the_best_with_fewer_seeds_than_a_fixed_design():
    plan = Plan()
    _, found, seeds = verdicts.in_waves(4, 3.0, EQUAL, plan, n_studies=60)
    assert found > 0.9
    assert seeds < 0.9 * verdicts.fixed_seeds(4, 3.0, EQUAL, found)


def test_the_simulations_use_the_intervals_that_users_get():
    random = np.random.default_rng(0)
    for scores in verdicts.studies(random, 5, np.linspace(2, 0, 5), 4, UNEQUAL):
        difference, half = verdicts.intervals(scores[None])
        found = compare_values({str(i): dict(enumerate(row)) for i, row in enumerate(scores.tolist())})
        for place, (i, j) in enumerate(zip(*np.triu_indices(5, 1), strict=True)):
            pair = found.pair(str(i), str(j))
            assert abs(pair.difference) == pytest.approx(abs(difference[0, place]))
            assert (pair.high - pair.low) / 2 == pytest.approx(half[0, place])


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("seeds_matter", [0.0, 3.0])
def test_intervals_of_means_cover_at_their_rate(seeds_matter):
    random = np.random.default_rng(1)
    n_studies = 300
    inside = 0.0
    for scores in verdicts.studies(random, n_studies, np.zeros(4), 4, EQUAL):
        moved = scores + seeds_matter * random.standard_normal(4)
        found = compare_values({str(i): dict(enumerate(row)) for i, row in enumerate(moved.tolist())})
        inside += np.mean([method.low < 0 < method.high for method in found.methods])
    # The four means of a study share what seeds do, so that they count as one.
    assert inside / n_studies == pytest.approx(0.95, abs=3 * np.sqrt(0.05 * 0.95 / n_studies))


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("seeds_matter", [0.0, 1.0, 5.0])
def test_missing_runs_keep_the_rate_of_errors(seeds_matter):
    random = np.random.default_rng(2)
    has_run = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [0, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=bool)
    n_studies = 150
    wrong = 0
    for scores in verdicts.studies(random, n_studies, np.zeros(4), 5, UNEQUAL):
        moved = scores + seeds_matter * random.standard_normal(5)
        values = {str(i): {s: float(row[s]) for s in range(5) if has_run[i, s]} for i, row in enumerate(moved)}
        wrong += any(pair.verdict == "better" for pair in compare_values(values).pairs)
    assert wrong / n_studies <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_studies)


@pytest.mark.usefixtures("few_draws")
def test_a_printed_table_marks_its_first_metric_alone_and_a_false_winner_in_at_most_one_of_twenty():
    # Four equal methods, three seeds, six metrics that correlate at 0.5; a method without a mark was called worse.
    metrics = ("map@r", "recall@1", "r_precision", "recall@2", "recall@4", "recall@8")
    random = np.random.default_rng(71)
    runs = [make_record(loss=loss, seed=seed) for loss in ("a", "b", "c", "d") for seed in range(3)]
    n_tables, wrong = 120, 0
    for _ in range(n_tables):
        scores = 0.5 + 0.01 * (random.normal(size=(12, 1)) + random.normal(size=(12, 6))) / np.sqrt(2)
        found = []
        for run, row in zip(runs, scores.tolist(), strict=True):
            values = zip(metrics, row, strict=True)
            found.append(replace(run, scores=tuple(Score(metric=m, split="test", value=v) for m, v in values)))
        table = ResultTable.from_records(found, primary="map@r")
        assert not any(row.cells[metric].mark for row in table.rows for metric in metrics[1:])
        marks = [row.cells["map@r"].mark for row in table.rows]
        assert any(marks)
        wrong += "" in marks
    assert wrong / n_tables <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_tables)
