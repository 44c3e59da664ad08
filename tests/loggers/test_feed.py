"""The feed: what loggers get and when, and that a logger cannot change or end a run."""

import json
from dataclasses import asdict

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fairground.errors import InputError
from fairground.loggers import feed as feed_module
from fairground.loggers.feed import Feed, fed
from fairground.records.run_folder import RunFolder
from fairground.spec.run_and_method_names import name_of
from fairground.training.run import run
from tests.patience import python
from tests.records.factory import make_record
from tests.training.stopping import stop_after
from tests.training.tiny import tiny

PROGRAM = """
import json, sys
import fairground.loggers.feed
print(json.dumps([name for name in ("torch", "tensorboard", "wandb", "mlflow") if name in sys.modules]))
import fairground.loggers.tensorboard
print(json.dumps([name for name in ("torch", "tensorflow") if name in sys.modules]))
"""


class Kept:
    def __init__(self, run, home) -> None:
        self.numbers, self.states = [], []

    def write(self, numbers) -> None:
        self.numbers += list(numbers)

    def close(self, state: str) -> None:
        self.states.append(state)


@pytest.fixture
def opened(monkeypatch):
    kept = {}

    def open_logger(name, run, home):
        if name == "wandb":
            raise OSError("no space\nleft")
        return kept.setdefault((name, run.name), Kept(run, home))

    monkeypatch.setattr(feed_module, "logger_named", open_logger)
    return kept


def test_epochs_come_as_they_end_and_the_rest_with_the_record(tmp_path, opened):
    here, elsewhere = make_record(seed=1), make_record(seed=2)
    RunFolder(tmp_path, here.name).make().spec.write_text(json.dumps(here.spec))
    feed, events = Feed(["tensorboard", "mlflow"], tmp_path), []
    watch = feed.after(events.append)
    watch({"kind": "batch", "run": here.name})
    watch({"kind": "epoch", "run": here.name, "row": asdict(here.epochs[1])})
    # On another machine: no folder here until its record comes.
    watch({"kind": "epoch", "run": elsewhere.name, "row": asdict(elsewhere.epochs[1])})
    watch({"kind": "worker_died", "worker_died": "killed"})
    feed.finished(elsewhere)
    feed.close()
    assert [event["kind"] for event in events] == ["batch", "epoch", "epoch", "worker_died"]
    for logger in ("tensorboard", "mlflow"):
        assert opened[logger, here.name].states == ["stopped"]
        assert {epoch for _, epoch, _ in opened[logger, here.name].numbers} == {1}
        whole = opened[logger, elsewhere.name]
        assert whole.states == ["done"]
        assert ("final/test/map@r", 8, elsewhere.score("map@r")) in whole.numbers
        assert len([tag for tag, _, _ in whole.numbers if tag == "train/loss"]) == 8


def test_a_logger_that_fails_is_warned_of_once_and_dropped(tmp_path, opened, capsys):
    feed = Feed(["wandb", "mlflow"], tmp_path)
    for seed in range(3):
        feed.finished(make_record(seed=seed))
    feed.close()
    expected = "warning: the logger wandb failed and is dropped; the run continues (OSError: no space)\n"
    assert capsys.readouterr().err == expected
    assert [key[0] for key in opened] == ["mlflow"] * 3


def test_a_stopped_run_resumes_without_doubling_and_with_the_digits_of_a_run_without_loggers(tmp_path):
    spec = tiny()
    name, plain = name_of(spec), run(spec, home=tmp_path / "plain")
    with fed(["tensorboard"], tmp_path) as feed, pytest.raises(KeyboardInterrupt):
        run(spec, home=tmp_path, listen=feed.after(lambda _: None, name), should_stop=stop_after(8))
    # What a kill would do to the file that is being written: its last number is lost.
    (file,) = (tmp_path / "tensorboard" / name).iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    with fed(["tensorboard"], tmp_path) as feed:
        record = run(spec, home=tmp_path, listen=feed.after(lambda _: None, name))
        feed.finished(record)
    assert record.digits() == plain.digits()
    found = EventAccumulator(str(tmp_path / "tensorboard" / name))
    found.Reload()
    assert [event.step for event in found.Scalars("validation/map@r")] == [0, 1, 2, 3]
    assert [event.step for event in found.Scalars("train/loss")] == [1, 2, 3]
    assert len(found.Scalars("final/test/map@r")) == 1


def test_an_unknown_logger_and_a_missing_package_are_refused_before_anything_starts(tmp_path, monkeypatch):
    with (
        pytest.raises(InputError, match=r"no logger 'tensorbord'\. Did you mean 'tensorboard'\?"),
        fed(["tensorbord"], tmp_path),
    ):
        pass
    monkeypatch.setattr(feed_module.importlib.util, "find_spec", lambda _: None)
    with (
        pytest.raises(InputError, match=r"the logger mlflow needs .*: pip install 'fairground\[mlflow\]'"),
        fed(["mlflow"], tmp_path),
    ):
        pass


def test_nothing_heavy_is_imported():
    done = python("-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[], []]
