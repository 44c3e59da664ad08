"""`fairground recommend` as a user meets it: refusals, an answer, Ctrl-C, going on, and one consistent page."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.commands import app
from fairground.errors import FairgroundError, InputError
from fairground.recommendation.recommendation import Recommendation
from fairground.recommendation.search import Search
from fairground.recommendation.time_budget import seconds_of
from fairground.records.store import Store
from fairground.training.adaptation import Workbench
from tests.commands.quick_search import call, use_ticking, write_features
from tests.datasets.pictures import class_folders


@pytest.fixture(autouse=True)
def own_clock(own_cache, monkeypatch):
    use_ticking(monkeypatch)


@pytest.fixture
def features(tmp_path):
    return write_features(tmp_path / "made.npz")


@pytest.mark.parametrize("text", ["", "30", "5 apples", "m30", "-3m", "0s"])
def test_a_time_that_cannot_be_read_is_refused(text):
    with pytest.raises(InputError, match=r"time (takes|must)"):
        seconds_of(text)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("1.5h", 5400), ("1h30m", 5400)])
def test_times_are_read(text, seconds):
    assert seconds_of(text) == seconds


def test_data_that_cannot_be_raced_on_is_refused_with_what_to_do(tmp_path):
    result = call(class_folders(tmp_path / "photos", ["a", "b", "c", "d"]), "--home", tmp_path / "home")
    assert isinstance(result.exception, FairgroundError)
    assert "at least 8 classes of two images or more" in str(result.exception)
    assert not (tmp_path / "home").exists()


def test_a_metric_without_a_value_for_each_query_cannot_decide(features, tmp_path):
    result = call(features, "--home", tmp_path, "--by", "nmi")
    assert "--by takes a metric with a value for each query" in str(result.exception)


def test_an_answer_has_a_page_and_a_model_is_printed_again_made_again_and_continued(features, tmp_path, monkeypatch):
    home = tmp_path / "home"
    words = (features, "--home", home, "--time", "8s", "--json")
    found = json.loads(call(*words).stdout)
    assert found["rows"][0][0].startswith("raw features")
    assert found["columns"][:3] == ["method", "Recall@1, test", "MAP@R, test"]
    assert {"raw features", found["chosen"]} <= set(found["test"])
    page = (home / "recommendations" / found["name"] / "report.html").read_text()
    said = [re.sub(r"[\s\u00a0]+", " ", sentence.partition(":")[0]) for sentence in found["advice"]]
    assert all(sentence in re.sub(r"[\s\u00a0]+", " ", page) for sentence in said)
    assert len([event for event in Store(home).events() if found["name"] in str(event)]) == 1

    made = CliRunner().invoke(app, ["reproduce", found["name"][:6], "--home", str(home)])
    assert made.exit_code == 0, made.output
    assert "the weights are bit-identical" in made.stdout
    out = home / "made.npz"
    words_of_embed = ["embed", found["name"][:6], str(features), "-o", str(out), "--home", str(home)]
    assert CliRunner().invoke(app, words_of_embed).exit_code == 0
    assert out.is_file()
    shown = CliRunner().invoke(app, ["show", found["name"], "--home", str(home)])
    assert f"That is a recommendation; its page is {home}" in str(shown.exception)

    with monkeypatch.context() as patch:
        patch.setattr(Workbench, "fit", lambda *_: pytest.fail("trained again"))
        again = json.loads(call(*words).stdout)
    assert {**again, "seconds": 0} == {**found, "seconds": 0}
    more = json.loads(call(*words, "--more", "8s").stdout)
    assert more["n_measurements"] > found["n_measurements"]
    assert any("opened 2 times" in sentence for sentence in more["advice"])


def test_earlier_sessions_do_not_count_once_the_data_changed(features, tmp_path):
    home = tmp_path / "home"
    words = (features, "--home", home, "--time", "8s", "--json")
    name = json.loads(call(*words).stdout)["name"]
    arrays = dict(np.load(features))
    np.savez(features, **{**arrays, "labels": arrays["labels"][::-1]})
    made = CliRunner().invoke(app, ["reproduce", name, "--home", str(home)])
    assert "was made with other content: data fingerprint was" in str(made.exception)
    again = call(*words[:-1])
    assert "Earlier sessions do not count, because data or code changed: data fingerprint was" in again.stderr
    assert "answered before" not in again.stderr
    (history,) = (home / "recommendations" / name / "history").iterdir()
    assert {"plan.json", "measurements.jsonl", "model", "report.html"} <= {path.name for path in history.iterdir()}
    assert "answered before" in call(*words[:-1]).stderr


@pytest.mark.parametrize(
    ("phase", "n_before", "sentence"),
    [((Recommendation, "_embed"), 0, "nothing has been measured yet"), ((Search, "_measure_closed"), 9, "Use the ")],
)
def test_ctrl_c_leaves_a_page_and_a_model_and_the_same_command_continues(
    phase, n_before, sentence, features, tmp_path, monkeypatch
):
    calls, work = [], getattr(*phase)

    def stopping(self, *given):
        calls.append(given)
        if len(calls) > n_before:
            raise KeyboardInterrupt
        return work(self, *given)

    words = (features, "--home", tmp_path / "home", "--time", "8s")
    with monkeypatch.context() as patch:
        patch.setattr(*phase, stopping)
        stopped = call(*words)
    assert stopped.exit_code == 130
    assert sentence in stopped.stdout
    assert "The test classes are still sealed" in stopped.stdout
    assert "YOUR_FEATURES.npz -o embeddings.npz" in " ".join(stopped.stdout.split())
    assert "The same command continues" in stopped.stderr
    folder = next((tmp_path / "home" / "recommendations").iterdir())
    assert (folder / "report.html").exists()
    assert (folder / "model" / "model.json").exists()
    done = call(*words)
    assert done.exit_code == 0
    assert "opened after this choice" in done.stdout


def test_ctrl_c_while_the_model_is_trained_keeps_what_was_measured(features, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    words = (features, "--home", tmp_path / "home", "--time", "8s")
    with monkeypatch.context() as patch:
        patch.setattr(Recommendation, "_train_final", stop)
        stopped = call(*words)
    assert (stopped.exit_code, stopped.stdout) == (130, "")
    assert "nothing is lost. The same command continues from here" in stopped.stderr
    measured = next((tmp_path / "home").rglob("measurements.jsonl")).read_bytes()
    assert call(*words).exit_code == 0
    assert next((tmp_path / "home").rglob("measurements.jsonl")).read_bytes().startswith(measured)


def test_ctrl_c_while_the_network_is_chosen_ends_with_that_of_the_protocol(tmp_path, monkeypatch):
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(8)], per_class=4)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fairground.recommendation.recommendation.choose_network", stop)
    stopped = call(root, "--home", tmp_path / "home", "--time", "2s")
    assert stopped.exit_code == 130
    assert "Use the frozen network as it is: nothing has been measured yet" in " ".join(stopped.stdout.split())


def test_the_model_of_a_folder_of_pictures_embeds_pictures(tmp_path):
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(10)], per_class=4)
    found = json.loads(call(root, "--home", tmp_path / "home", "--time", "2s", "--json").stdout)
    assert "frozen network" in found["rows"][0][0]
    out = tmp_path / "embeddings.npz"
    embedded = CliRunner().invoke(app, ["embed", found["model"], str(root), "-o", str(out), "--home", str(tmp_path)])
    assert embedded.exit_code == 0, embedded.output
    with np.load(out) as arrays:
        assert len(arrays["embeddings"]) == 40
