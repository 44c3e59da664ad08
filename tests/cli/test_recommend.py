"""`fairground recommend` as a user meets it: refusals in sentences, a whole race on features, Ctrl-C and going on."""

import json
from functools import partial

import numpy as np
import pytest

from fairground.api import recommend as command
from fairground.errors import FairgroundError, InputError
from fairground.recommend import race_plan
from tests.cli.quick_race import SHORT, call, hurry, write_features
from tests.datasets.pictures import class_folders


@pytest.fixture
def features(tmp_path):
    return write_features(tmp_path / "made.npz")


@pytest.fixture
def here(monkeypatch):
    hurry(monkeypatch)


@pytest.mark.parametrize("text", ["", "30", "5 apples", "m30", "-3m", "0s"])
def test_a_time_nobody_can_read_is_refused(text):
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


def test_classes_of_one_image_are_refused(tmp_path):
    np.savez(tmp_path / "lone.npz", features=np.eye(20, dtype=np.float32), labels=np.arange(20))
    result = call(tmp_path / "lone.npz", "--home", tmp_path)
    assert "each of the 20 classes has one image only" in str(result.exception)


def test_a_time_too_short_names_the_shortest(features, here, tmp_path, monkeypatch):
    monkeypatch.setattr(race_plan, "ENDING", 15.0)  # so that no machine is fast enough
    result = call(features, "--home", tmp_path, "--time", "2s", *SHORT)
    assert "2 seconds is too short for a race on this data" in str(result.exception)
    assert "Say --time" in str(result.exception)


def test_a_race_on_features_ends_in_advice_a_page_and_a_model_and_is_not_run_again(features, here, tmp_path):
    asked = partial(call, features, "--home", tmp_path / "home", "--time", "10m", "--json", *SHORT)
    told = json.loads(asked().stdout)
    assert told["is_over"]
    assert told["advice"][0].startswith("Take ")
    assert {row["method"] for row in told["baselines"]} == {"raw features", "principal axes"}
    assert len(told["standings"]) >= 12
    assert len(told["standings"][0]["test"]) == 3
    page = (tmp_path / "home" / "races" / told["race"] / "report.html").read_text()
    assert "What should be taken?" in page
    assert told["advice"][0].partition(":")[0] in page
    assert "raw features" in page
    assert (tmp_path / "home" / "races" / told["race"] / "model" / "model.json").exists()
    again = json.loads(asked().stdout)
    assert again["chosen"] == told["chosen"]
    assert again["standings"] == told["standings"]


def test_ctrl_c_ends_with_what_is_known_and_the_same_command_goes_on(features, here, tmp_path, monkeypatch):
    heard = []

    def stopping(record):
        heard.append(record.name)
        if len(heard) == 6:
            raise KeyboardInterrupt

    class Progress:
        def __enter__(self):
            return (lambda _: None), stopping

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(command, "race_progress", lambda *_, **__: Progress())
    words = (features, "--home", tmp_path / "home", "--time", "10m", *SHORT)
    stopped = call(*words)
    assert stopped.exit_code == 130
    assert "The test classes are still sealed" in stopped.stdout
    assert "the same command goes on" in stopped.stderr.lower()
    assert "page: " in stopped.stdout
    done = call(*words)
    assert done.exit_code == 0
    assert "opened once after this choice" in done.stdout
