"""Stored records of older versions open with the fields of today."""

import json
from pathlib import Path

import pytest

from fairground.records.older_versions import upgraded
from fairground.records.record import RECORD_VERSION, KnownBug, PretrainedWeights, RunRecord, Selection
from fairground.records.store import Store
from fairground.spec.procedures import SearchProcedure
from tests.records.factory import make_record

OLDER = Path(__file__).parent / "older"


def opened(version: int) -> RunRecord:
    return RunRecord.from_json((OLDER / f"version_{version}.json").read_text(encoding="utf-8"))


def test_what_version_2_said_in_notes_is_in_fields():
    record = opened(2)
    assert record.version == RECORD_VERSION
    assert record.search == SearchProcedure(trials=50)
    assert record.selection == Selection(split="validation", metric="map@r")
    assert record.clustering_seeds == 5
    assert record.is_closed_set
    bug = "margin.count = 'tuples': a triplet with two active terms is counted once, as in Roth et al. 2020 (E16)"
    assert record.known_bugs == (KnownBug(component="", sentence=bug),)
    assert record.weights == PretrainedWeights(name="imagenet", hash="0676ba61b6795bbe")
    assert [finding.sign for finding in record.findings] == ["collapse"]
    assert "data: left out 2 folders without an image" in record.notes
    assert record.score("map@r") == pytest.approx(0.3, abs=0.05)


def test_directions_are_those_the_metrics_declare_and_nothing_is_guessed():
    record = opened(2)
    found = {score.metric: score.higher_is_better for score in record.scores}
    assert (found["map@r"], found["eer"], found["rho"], found["my_lab.metrics:Spread"]) == (True, False, None, None)


def test_version_1_had_no_findings_and_may_have_been_selected_on_test():
    record = opened(1)
    assert record.findings == ()
    assert record.selection == Selection(split="test", metric="map@r")
    assert (record.search, record.clustering_seeds, record.is_closed_set, record.weights) == (None, 1, False, None)


def test_an_older_record_can_be_stored_again_and_is_the_same_news(tmp_path):
    store = Store(tmp_path)
    assert store.append(opened(2)) == "current"
    assert store.append(opened(2)) == "repeated"
    assert store.get(opened(2).name) == opened(2)


@pytest.mark.parametrize(
    ("notes", "spec", "field", "value"),
    [
        (["search: 1 trial"], {}, "search", SearchProcedure(trials=1).to_plain()),
        ([], {"search": {"trials": 7}}, "search", SearchProcedure(trials=7).to_plain()),
        (["selected on the train split"], {}, "selection", {"split": "train", "metric": "", "is_best_of_each": False}),
        (["closed set: images of all classes are split"], {}, "is_closed_set", True),
        ([], {"split": {"name": "closed_set"}}, "is_closed_set", True),
        (["no search: 50 trials"], {}, "search", None),
    ],
)
def test_each_form_of_note(notes, spec, field, value):
    data = {"notes": notes, "spec": spec, "epochs": [], "scores": [], "version": 2}
    assert upgraded(data, version=3)[field] == value


def test_without_a_validation_score_or_a_word_about_it_nothing_selected():
    data = json.loads(make_record().to_json())
    rows = [{**row, "validation": {}} for row in data["epochs"]]
    assert upgraded({**data, "version": 2, "epochs": rows}, version=3)["selection"] is None
