"""Which way a metric is better decides rows, marks, sentences and figures, whoever wrote the metric."""

from dataclasses import replace

import pytest

from fairground.records.record import RunRecord, Score
from fairground.reporting import ResultTable, comparison_text, heading, headline_of, show, unit
from fairground.reporting.figures import search_course_and_sensitivity
from fairground.reporting.table_formats import text
from tests.records.factory import make_record
from tests.reporting.figure_runs import inputs

LOWER = ("eer", "fnmr", "fnmr@fmr=0.01")
HIGHER = ("roc_auc", "purity", "precision@c", "AUROC", "R@1", "nmi", "map@r")
OWN = "my_lab.metrics:Misses"

LOW, MIDDLE, HIGH = (0.10, 0.11, 0.12), (0.20, 0.21, 0.225), (0.30, 0.31, 0.32)


def runs(loss: str, values: tuple[float, ...], metric: str, higher_is_better: bool | None = None) -> list[RunRecord]:
    made = [make_record(loss=loss, settings={"margin": values[0]}, seed=seed) for seed in range(len(values))]
    scored = [Score(metric=metric, split="test", value=value, higher_is_better=higher_is_better) for value in values]
    spec = {"evaluation": {"metrics": [metric], "select_by": metric}}
    return [replace(run, spec={**run.spec, **spec}, scores=(x,)) for run, x in zip(made, scored, strict=True)]


def three(metric: str, higher_is_better: bool | None = None) -> list[RunRecord]:
    levels = {"triplet": MIDDLE, "margin": LOW, "contrastive": HIGH}
    return [run for loss, values in levels.items() for run in runs(loss, values, metric, higher_is_better)]


def table_of(metric: str, higher_is_better: bool | None = None) -> ResultTable:
    return ResultTable.from_records(three(metric, higher_is_better))


@pytest.mark.parametrize(
    ("metric", "declared", "is_lower"),
    [*((m, None, True) for m in LOWER), (OWN, False, True), *((m, None, False) for m in HIGHER), (OWN, True, False)],
)
def test_the_best_comes_first_and_is_marked(metric, declared, is_lower):
    table = table_of(metric, declared)
    expected = ["margin", "triplet", "contrastive"]
    assert [row.label.partition(",")[0] for row in table.rows] == (expected if is_lower else expected[::-1])
    assert [row.cells[metric].mark for row in table.rows] == ["best", "", ""]
    assert "★" in text(table).splitlines()[2]
    assert headline_of(table).startswith(f"{expected[0 if is_lower else 2]} is best: ")


@pytest.mark.parametrize("metric", ["rho", OWN])
def test_without_a_direction_no_method_is_marked_or_called_better(metric):
    table = table_of(metric)
    assert {row.cells[metric].mark for row in table.rows} == {""}
    found = comparison_text.compare_records(three(metric))
    assert found.best == ()
    assert " is higher than " in comparison_text.text(found)
    assert " is better than " not in comparison_text.text(found)


def test_a_tie_and_a_single_seed_name_the_lowest_where_less_is_better():
    tied = ResultTable.from_records([*runs("a", (0.1, 0.2, 0.15), "eer"), *runs("b", (0.12, 0.17, 0.2), "eer")])
    assert headline_of(tied).startswith("a has the lowest mean, EER 15.00")
    alone = ResultTable.from_records([*runs("a", (0.1,), "eer"), *runs("b", (0.2,), "eer")])
    assert headline_of(alone).startswith("a has the lowest score, EER 10.00 %")


def test_the_best_value_of_a_setting_is_the_one_with_the_lowest_score():
    records = [*runs("triplet", LOW, "eer"), *runs("triplet", HIGH, "eer")]
    (one,), _ = search_course_and_sensitivity.sensitivities_of(inputs(records))
    assert (one.setting, one.best[0]) == ("loss.margin", LOW[0])


@pytest.mark.parametrize(
    ("metric", "title"),
    [
        *(("eer", "EER"), ("fnmr@fmr=0.01", "FNMR@fmr=0.01"), ("roc_auc", "ROC AUC"), ("purity", "Purity")),
        *(("precision_at_c", "Precision@C"), ("R@1", "Recall@1"), (OWN, OWN)),
        *(("map@r", "MAP@R"), ("r_precision", "R-precision"), ("ndcg@10", "nDCG@10")),
    ],
)
def test_names_and_units(metric, title):
    shown = "0.1234" if metric == OWN else "12.34 %"
    assert f"{heading(metric)} {show(metric, 0.12341)}{unit(metric)}" == f"{title} {shown}"
