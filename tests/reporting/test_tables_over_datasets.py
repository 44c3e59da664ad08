"""Methods over the data sets of a page and of a home: what is ranked, said, drawn and refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fairground.errors import InputError
from fairground.records import Score
from fairground.records.store import Store
from fairground.reporting import ResultTable, RunSet, over_tables, page_text, section_key
from tests.commands.test_commands import fairground
from tests.records.factory import changed
from tests.reporting.test_result_table import runs

DATASETS = ("birds", "cars", "shops", "pets")


def on(dataset, records):
    """Return records as if they were of another data set."""
    return [changed(record, data={"name": dataset}) for record in records]


def study(*, gap=0.1, methods=("a", "b", "c"), metric="map@r"):
    random = np.random.default_rng(0)
    return {
        dataset: [
            record
            for i, method in enumerate(methods)
            for record in on(
                dataset, runs(method, *(0.5 - gap * i + 0.05 * j + 0.002 * random.normal(size=3)), metric=metric)
            )
        ]
        for j, dataset in enumerate(DATASETS)
    }


def tables(found):
    return {dataset: ResultTable.from_records(records) for dataset, records in found.items()}


def test_clear_ranks_are_ranked_with_intervals_and_differences_settled():
    found = over_tables(tables(study()))
    assert [name for name, _ in found.rows] == ["a", "b", "c"]
    assert found.rows[0][1].startswith("1.00 [1.00, ")
    assert found.sentences[0].startswith("a is better than b by 10.0")
    assert found.sentences[0].endswith("4 data sets")
    assert [figure.name for figure in found.figures] == ["ranks"]
    assert "Over data sets. By MAP@R on 4 data sets (birds, cars, shops, pets)." in found.text()
    assert json.loads(json.dumps(found.plain()))["pairs"][0]["verdict"] == "better"


def test_splits_of_rising_distance_are_data_sets_and_draw_score_against_distance():
    found = {}
    for level, (dataset, records) in enumerate(study().items()):
        split = {"name": "rising_distance", "level": level}
        distance = Score(metric="class_distance", split="train", value=20.0 + level)
        found[dataset] = [
            replace(changed(record, data={"name": "birds"}, split=split), scores=(*record.scores, distance))
            for record in records
        ]
    keys = {section_key(record)[0] for records in found.values() for record in records}
    assert keys == {f"birds, level {level}" for level in range(4)}
    over = over_tables(tables(found))
    assert "splits of one data set" in over.lead
    assert "splits of one data set" not in over_tables(tables(study())).lead
    figure = over.figures[0]
    assert figure.name == "score_against_distance"
    assert [row[:2] for row in figure.rows[:4]] == [("a", 20.0), ("a", 21.0), ("a", 22.0), ("a", 23.0)]
    assert all(low <= mean <= high for _, _, mean, low, high in figure.rows)
    assert figure.rows[3][2] > figure.rows[0][2]
    assert figure.svg("x").startswith("<svg")


def test_what_cannot_be_told_over_data_sets_asks_for_more_of_them():
    two = {dataset: found for dataset, found in study(gap=0.0).items() if dataset in ("birds", "cars")}
    found = over_tables(tables(two), margin=0.0)
    assert any("not settled" in said and said.endswith("more data sets would tell") for said in found.sentences)
    assert not any("seed" in said for said in found.sentences)


def test_lower_is_better_is_ranked_the_other_way_round():
    found = over_tables(tables(study(metric="eer")))
    assert [name for name, _ in found.rows] == ["c", "b", "a"]
    assert "c is better (lower) than b" in found.sentences[0]


def test_methods_that_a_data_set_lacks_are_left_out_and_said():
    some = study()
    some["pets"] = [record for record in some["pets"] if record.spec["loss"]["name"] != "c"]
    found = over_tables(tables(some))
    assert found.left_out == ("c",)
    assert "Not on every data set, and left out: c." in found.lead
    assert [row[0] for row in found.figures[0].rows] == ["a", "b"]


def test_refusals_are_sentences():
    one = tables(study())
    with pytest.raises(InputError, match="at least 2 of them; got birds"):
        over_tables({"birds": one["birds"]})
    with pytest.raises(InputError, match="at least 2 methods that all of them have; birds has a, b, c; cars has x, y"):
        over_tables({"birds": one["birds"], "cars": tables(study(methods=("x", "y")))["cars"]})
    with pytest.raises(InputError, match="needs one metric; the tables have map@r, eer"):
        over_tables({"birds": one["birds"], "cars": tables(study(metric="eer"))["cars"]})


def test_the_page_shows_ranks_and_differences(monkeypatch):
    # Those of each data set take a while to draw.
    monkeypatch.setattr("fairground.reporting.page.figures_of", lambda _, **__: [])
    records = [record for some in study().values() for record in some]
    page = page_text(RunSet(records=tuple(records)))
    for words in ("Over all data sets", "Mean ranks", "Mean differences over data sets"):
        assert words in page
    assert "Over all data sets" not in page_text(RunSet(records=tuple(study()["birds"])))


def test_runs_of_a_store_are_compared_over_data_sets(tmp_path, capsys):
    store = Store(tmp_path)
    for records in study().values():
        for record in records:
            store.append(record)
    assert fairground("compare", "--over-datasets", "--home", str(tmp_path)) == 0
    assert "a is better than b by" in capsys.readouterr().out
    assert fairground("compare", "--over-datasets", "--home", str(tmp_path), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert tuple(found["datasets"]) == DATASETS
    assert found["over_datasets"]["methods"][0]["name"] == "a"
    assert fairground("compare", "--over-datasets", "--anyway", "--home", str(tmp_path)) == 2
    assert "--over-datasets compares fair tables" in capsys.readouterr().err
