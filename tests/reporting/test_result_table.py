import csv
import io
from dataclasses import replace

import pytest

from fairground.comparison.fold_averages import join_folds
from fairground.records.record import EpochRow, RunRecord, Score
from fairground.reporting import ResultTable, caption, headline_of
from fairground.reporting import table_formats as formats
from fairground.reporting.methods_and_labels import methods_of
from fairground.spec import flatten
from tests.records.factory import changed, make_record, make_spec
from tests.reporting.fixtures import HOSTILE, make_study


def runs(loss: str, *values: float, metric: str = "map@r") -> list[RunRecord]:
    made = [make_record(loss=loss, seed=seed) for seed in range(len(values))]
    scores = [(Score(metric=metric, split="test", value=value),) for value in values]
    return [replace(run, scores=score) for run, score in zip(made, scores, strict=True)]


def marks(table: ResultTable, metric: str = "map@r") -> dict[str, str]:
    return {row.label: row.cells[metric].mark for row in table.rows}


def test_rows_are_sorted_by_what_the_runs_were_selected_by_and_it_comes_first():
    table = ResultTable.from_records(make_study())
    assert table.primary == "map@r"
    assert table.metrics == ("map@r", "recall@1", "recall@2", "recall@4", "recall@8", "r_precision")
    assert table.rows[0].label == "margin + distance_weighted"
    means = [row.cells["map@r"].interval.mean for row in table.rows]
    assert means == sorted(means, reverse=True)
    assert {row.n_done for row in table.rows} == {3}


def test_a_method_of_one_run_has_no_verdict_and_the_others_are_marked():
    table = ResultTable.from_records([*runs("a", 0.90), *runs("b", 0.50, 0.51, 0.52), *runs("c", 0.30, 0.31, 0.32)])
    assert marks(table) == {"a": "", "b": "best", "c": ""}
    sentence = "There is no verdict on a: one run cannot tell a better method from a lucky one."
    assert caption(table).endswith(f"Unmarked: significantly worse than some method. {sentence}")
    headline = headline_of(table)
    assert headline.startswith("b is best: ")
    assert headline.endswith(sentence)
    alone = ResultTable.from_records([*runs("a", 0.90), *runs("b", 0.50, 0.51, 0.52)])
    assert marks(alone) == {"a": "", "b": ""}
    assert "one seed cannot tell a better method from a lucky one" in headline_of(alone)


def test_what_is_no_share_is_neither_marked_nor_in_per_cent():
    table = ResultTable.from_records([*runs("a", 3.0, 3.1, metric="density"), *runs("b", 9.0, 9.1, metric="density")])
    assert marks(table, "density") == {"a": "", "b": ""}
    assert "3.05 ± 0.6242" in formats.text(table)


def test_validation_scores_are_shown_while_the_test_split_is_sealed():
    sealed = [replace(run, scores=tuple(s for s in run.scores if s.split == "validation")) for run in make_study()]
    table = ResultTable.from_records(sealed)
    assert table.split == "validation"
    assert "on the validation classes" in caption(table)


def test_unfinished_runs_are_counted_and_a_method_without_a_finished_one_comes_last():
    lost = [make_record(loss="a", seed=2, state="diverged"), make_record(loss="b", state="failed")]
    table = ResultTable.from_records([*runs("a", 0.5, 0.6), *lost])
    assert [(row.label, row.n_done, row.n_runs) for row in table.rows] == [("a", 2, 3), ("b", 0, 1)]
    text = formats.text(table)
    assert "2 of 3" in text
    assert "0 of 1" in text
    assert table.rows[1].cells["map@r"].interval is None


def test_numbers_are_written_the_same_everywhere():
    table = ResultTable.from_records([*runs("a", 0.50, 0.51, 0.52), *runs("b", 0.30, 0.31, 0.32)])
    assert "51.00 ± 2.51 ★" in formats.text(table)
    assert "| a | 3 | 51.00 ± 2.51 ★ |" in formats.markdown(table)
    assert r"a & 3 & $\mathbf{51.00 \pm 2.51}$ \\" in formats.latex(table)
    assert "over 3 seeds. Marks are for MAP@R: ★ best (significantly better than, " in caption(table)


def test_csv_keeps_every_digit_and_reads_back():
    table = ResultTable.from_records(make_study())
    rows = list(csv.DictReader(io.StringIO(formats.csv_text(table))))
    first = table.rows[0].cells["map@r"].interval
    assert float(rows[0]["map@r mean"]) == first.mean
    assert float(rows[0]["map@r low"]) == first.low
    assert rows[0]["runs done"] == "3"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text_in_every_format(name):
    record = make_record()
    table = ResultTable.from_records([record], names={record.method: name})
    plain = formats.text(table)
    assert "\x1b" not in plain
    assert "\u202e" not in plain
    assert max(len(line) for line in plain.splitlines()) < 300
    assert "<script" not in formats.markdown(table)
    cells = next(csv.reader(io.StringIO(formats.csv_text(table).partition("\n")[2])))
    assert not cells[0].startswith(("=", "+", "-", "@"))
    assert r"\frac" not in formats.latex(table)


def test_equivalent_and_not_settled_are_two_marks_with_a_legend():
    close = [*runs("a", 0.5003, 0.5, 0.4998), *runs("b", 0.4999, 0.5002, 0.4996), *runs("c", 0.3, 0.3004, 0.2999)]
    table = ResultTable.from_records(close)
    assert marks(table) == {"a": "best", "b": "equivalent", "c": ""}
    assert "≈ equivalent to the best: within ±0.50 % of it." in caption(table)
    assert "Unmarked: significantly worse than some method." in caption(table)
    assert r"$^{\approx}$" in formats.latex(table)
    strict = ResultTable.from_records(close, margin=0.01)
    assert marks(strict) == {"a": "unsettled", "b": "unsettled", "c": ""}
    assert "? not significantly different" in caption(strict)
    assert "≈" not in formats.text(strict)


def test_best_epochs_are_shown_as_mean_and_population_deviation():
    runs = [replace(make_record(seed=seed), best_epoch=epoch) for seed, epoch in enumerate((2, 4, 6))]
    (row,) = ResultTable.from_records(runs).rows
    # Mean 4; squared deviations 4, 0, 4 over 3.
    assert (row.best_epochs, row.shown_epoch) == ([2, 4, 6], "4.0 ± 1.6")
    (one,) = ResultTable.from_records(runs[:1]).rows
    assert one.shown_epoch == "2"
    none = ResultTable.from_records([replace(run, best_epoch=None) for run in runs])
    assert not none.has_epochs


def test_folds_that_chose_different_epochs_have_no_best_epoch_between_them():
    folds = [changed(make_record(), split={"name": "class_folds", "fold": n, "n_folds": 2}) for n in (0, 1)]
    for epochs, best in (((3, 5), None), ((3, 3), 3)):
        chosen = [replace(run, best_epoch=epoch) for run, epoch in zip(folds, epochs, strict=True)]
        assert join_folds(chosen)[0].best_epoch == best
    one, two = (EpochRow(epoch=0, step=0, loss=None, validation={"map@r": score}) for score in (0.1, 0.3))
    slow = replace(folds[1], epochs=(two,), provenance=replace(folds[1].provenance, wall_seconds=5.0))
    (mean,) = join_folds([replace(folds[0], epochs=(one, replace(one, epoch=1))), slow])
    assert [(row.epoch, round(row.validation["map@r"], 9)) for row in mean.epochs] == [(0, 0.2)]
    assert mean.provenance.wall_seconds == (folds[0].provenance.wall_seconds + 5.0) / 2


def test_nothing_finished_is_a_table_without_columns():
    table = ResultTable.from_records([make_record(state="failed")])
    assert (table.metrics, table.primary) == ((), "")
    assert "0 of 1" in formats.text(table)
    for write in (formats.markdown, formats.csv_text, formats.latex):
        assert write(table)


def labels(records, names=None) -> list[str]:
    return [method.label for method in methods_of(records, names)]


def test_a_method_is_called_by_its_loss_and_then_by_what_tells_it_apart():
    found = ["contrastive", "triplet", "triplet + distance_weighted", "margin + distance_weighted"]
    assert labels(make_study()) == found
    alike = [make_record(settings={"margin": margin, "power": 1}) for margin in (0.1, 0.2)]
    assert labels(alike) == ["triplet, loss.margin=0.1", "triplet, loss.margin=0.2"]
    assert labels([make_record()]) == ["triplet"]
    study = make_study()
    assert labels(study, {study[0].method: "our baseline"})[0] == "our baseline"


def test_a_method_has_its_seeds_in_order_and_what_differs_from_others():
    (alone,) = methods_of([make_record(seed=seed) for seed in (2, 0, 1)])
    assert [record.spec["seed"] for record in alone.records] == [0, 1, 2]
    assert alone.differences == {}
    method = methods_of(make_study())[2]
    assert method.differences == {"loss": "triplet", "miner": "distance_weighted", "loss.margin": "0.2"}


def test_a_spec_is_flattened_without_its_seed():
    flat = flatten(make_spec(miner=None))
    assert flat["loss"] == "triplet"
    assert flat["loss.margin"] == "0.1"
    assert flat["miner"] == "none"
    assert flat["evaluation.metrics"].startswith("recall@1, recall@2")
    assert "seed" not in flat
    assert flatten({"a": {"name": "x", "on": True, "many": [1, 2.5]}}) == {"a": "x", "a.on": "true", "a.many": "1, 2.5"}


def test_a_network_that_is_not_trained_is_called_frozen_and_changes_nobody_elses_name():
    identity, pca = (changed(make_record(), training={"epochs": 0}, head={"name": h}) for h in ("identity", "pca"))
    assert labels([*make_study(), identity])[-2:] == ["margin + distance_weighted", "frozen small_conv"]
    assert labels([identity, pca]) == ["frozen small_conv + identity", "frozen small_conv + pca"]
