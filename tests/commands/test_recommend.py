"""`fairground recommend` as a user meets it: refusals, an answer, Ctrl-C, going on, and one consistent page."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.commands import recommend as command
from fairground.commands.main import app
from fairground.errors import FairgroundError, InputError
from fairground.recommendation.budget import Budget
from fairground.recommendation.recommendation import Recommendation
from fairground.records.store import Store
from fairground.training.adaptation import Workbench
from tests.commands.quick_race import call, measure_at_least, write_features
from tests.datasets.pictures import class_folders


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def features(tmp_path):
    return write_features(tmp_path / "made.npz")


@pytest.mark.parametrize("text", ["", "30", "5 apples", "m30", "-3m", "0s"])
def test_a_time_that_cannot_be_read_is_refused(text):
    with pytest.raises(InputError, match=r"time (takes|must)"):
        command.seconds_of(text)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("1.5h", 5400), ("1h30m", 5400)])
def test_times_are_read(text, seconds):
    assert command.seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [(["a"], "all images are of one class"), (["a", "b", "c", "d"], "at least 8 classes of two images or more")],
)
def test_data_that_cannot_be_raced_on_is_refused_with_what_to_do(classes, sentence, tmp_path):
    result = call(class_folders(tmp_path / "photos", classes), "--home", tmp_path / "home")
    assert isinstance(result.exception, FairgroundError)
    assert sentence in str(result.exception)
    assert not (tmp_path / "home").exists()


def test_a_metric_without_a_value_for_each_query_cannot_decide(features, tmp_path):
    result = call(features, "--home", tmp_path, "--by", "nmi")
    assert "--by takes a metric with a value for each query" in str(result.exception)


def test_an_answer_with_a_page_a_model_and_frozen_first(features, tmp_path, monkeypatch):
    measure_at_least(4, monkeypatch)
    found = json.loads(call(features, "--home", tmp_path / "home", "--time", "12s", "--json").stdout)
    assert found["rows"][0][0].startswith("raw features")
    assert found["columns"][:3] == ["method", "Recall@1, validation", "Recall@1, test"]
    assert "raw features" in found["test"]
    assert found["chosen"] in found["test"]
    page = (tmp_path / "home" / "recommendations" / found["name"] / "report.html").read_text()
    said = [re.sub(r"[\s\u00a0]+", " ", sentence.partition(":")[0]) for sentence in found["advice"]]
    plain = re.sub(r"[\s\u00a0]+", " ", page)
    assert all(sentence in plain for sentence in said)
    events = [event for event in Store(tmp_path / "home").events() if found["name"] in str(event)]
    assert len(events) == 1


def test_a_repeated_command_only_prints_and_more_goes_on(features, tmp_path, monkeypatch):
    words = (features, "--home", tmp_path / "home", "--json")
    measure_at_least(4, monkeypatch)
    first = json.loads(call(*words, "--time", "8s").stdout)
    monkeypatch.setattr(Workbench, "fit", lambda *_: pytest.fail("trained again"))
    again = json.loads(call(*words, "--time", "8s").stdout)
    assert {**again, "seconds": 0} == {**first, "seconds": 0}
    monkeypatch.undo()
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    measure_at_least(2, monkeypatch)
    more = json.loads(call(*words, "--time", "8s", "--more", "8s").stdout)
    assert more["n_measurements"] > first["n_measurements"]
    assert any("opened 2 times" in sentence for sentence in more["advice"])


def test_ctrl_c_leaves_a_page_and_a_model_and_the_same_command_goes_on(features, tmp_path, monkeypatch):
    measured = []
    measure = Recommendation._measure

    def stopping(self, candidate, repeat):
        measured.append(candidate.label)
        if len(measured) == 6:
            raise KeyboardInterrupt
        return measure(self, candidate, repeat)

    monkeypatch.setattr(Recommendation, "_measure", stopping)
    monkeypatch.setattr(Budget, "has_room", lambda *_: True)  # however busy the machine is, six are begun
    words = (features, "--home", tmp_path / "home", "--time", "14s")
    stopped = call(*words)
    assert stopped.exit_code == 130
    assert "The test classes are still sealed" in stopped.stdout
    assert "The same command continues" in stopped.stderr
    folder = next((tmp_path / "home" / "recommendations").iterdir())
    assert (folder / "report.html").exists()
    assert (folder / "model" / "model.json").exists()
    monkeypatch.undo()
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    done = call(*words)
    assert done.exit_code == 0
    assert "opened after this choice" in done.stdout


def test_ctrl_c_before_anything_is_measured_hands_over_the_frozen_network(features, tmp_path, monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Recommendation, "_embed", stop)
    stopped = call(features, "--home", tmp_path / "home", "--time", "14s")
    assert stopped.exit_code == 130
    assert "nothing has been measured yet" in stopped.stdout
    assert "YOUR_FEATURES.npz -o embeddings.npz" in " ".join(stopped.stdout.split())
    folder = next((tmp_path / "home" / "recommendations").iterdir())
    assert (folder / "model" / "model.json").exists()


def test_the_model_is_made_again_from_its_plan_to_the_last_bit(features, tmp_path):
    home = tmp_path / "home"
    found = json.loads(call(features, "--home", home, "--time", "8s", "--json").stdout)
    made = CliRunner().invoke(app, ["reproduce", found["name"][:6], "--home", str(home)])
    assert made.exit_code == 0, made.output
    assert "the weights are bit-identical" in made.stdout


def test_the_model_of_a_folder_of_pictures_embeds_pictures(tmp_path):
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(10)], per_class=4)
    home = tmp_path / "home"
    found = json.loads(call(root, "--home", home, "--time", "20s", "--json").stdout)
    assert "untrained network" in found["rows"][0][0]
    out = tmp_path / "embeddings.npz"
    embedded = CliRunner().invoke(app, ["embed", found["model"], str(root), "-o", str(out), "--home", str(home)])
    assert embedded.exit_code == 0, embedded.output
    with np.load(out) as arrays:
        assert len(arrays["embeddings"]) == 40
