"""The feed: what loggers hear of and when, and that no logger can hold up, change or end a run."""

import threading

import pytest

from fairground.errors import InputError
from fairground.loggers import choose
from fairground.loggers.feed import Feed, fed
from fairground.loggers.logger import RunLogger
from fairground.records.events import EpochEnded, MeasuringStarted
from fairground.records.record import EpochRow
from fairground.records.run_folder import RunFolder
from tests.patience import PATIENCE
from tests.records.factory import make_record
from tests.reporting.watched import begin_run


class _Heard(RunLogger):
    def __init__(self) -> None:
        self.numbers, self.states = [], []

    def write(self, numbers) -> None:
        self.numbers += list(numbers)

    def close(self, state: str) -> None:
        self.states.append(state)


@pytest.fixture
def opened():
    return {}


def feed_into(opened, home, *names: str, fail: str = "", block: threading.Event | None = None) -> Feed:
    def open_logger(name, run, _home):
        if name == fail:
            raise OSError("no space\nleft")
        if block is not None:
            block.wait(PATIENCE)
        return opened.setdefault((name, run.name), _Heard())

    opened["warnings"] = []
    return Feed(names, home, warn=opened["warnings"].append, open_logger=open_logger)


def test_an_epoch_brings_all_rows_of_the_newest_checkpoint_and_a_batch_nothing(tmp_path, opened):
    name = begin_run(tmp_path, n_epochs=2)
    on_record = []
    feed = feed_into(opened, tmp_path, "tensorboard")
    listen = feed.with_run_events(on_record.append, run=name)
    events = [MeasuringStarted(n_images=3), EpochEnded(row=EpochRow(epoch=2, step=2, loss=0.1), n_epochs=3)]
    for event in events:
        listen(event)
    feed.close()
    assert on_record == events
    logger = opened["tensorboard", name]
    assert [epoch for tag, epoch, _ in logger.numbers if tag == "validation/map@r"] == [0, 1, 2]
    assert logger.states == ["stopped"]


def test_runs_of_an_executor_are_told_apart_and_end_with_their_records(tmp_path, opened):
    name = begin_run(tmp_path, seed=1)
    elsewhere = make_record(seed=2)
    feed = feed_into(opened, tmp_path, "tensorboard", "mlflow")
    watch, on_record = feed.with_events(lambda _: None), feed.with_records(lambda _: None)
    watch({"kind": "epoch", "run": name})
    # On another machine: no folder here until its record comes.
    watch({"kind": "epoch", "run": elsewhere.name})
    watch({"kind": "worker_died", "worker_died": "killed"})
    on_record(elsewhere)
    feed.close()
    for logger in ("tensorboard", "mlflow"):
        assert opened[logger, name].states == ["stopped"]
        whole = opened[logger, elsewhere.name]
        assert whole.states == ["done"]
        assert ("final/test/map@r", 8, elsewhere.score("map@r")) in whole.numbers
        assert len([tag for tag, _, _ in whole.numbers if tag == "train/loss"]) == 8


def test_a_logger_that_fails_is_warned_of_once_and_dropped(tmp_path, opened):
    feed = feed_into(opened, tmp_path, "wandb", "mlflow", fail="wandb")
    for seed in range(3):
        feed.finished(make_record(seed=seed))
    feed.close()
    assert opened["warnings"] == ["the logger wandb failed and is dropped; the run goes on (OSError: no space)"]
    assert [key[0] for key in opened if key != "warnings"] == ["mlflow"] * 3


def test_a_logger_that_hangs_holds_up_nothing(tmp_path, opened):
    block = threading.Event()
    feed = feed_into(opened, tmp_path, "wandb", block=block)
    # The sink waits for `block`, which is set below: whoever waited for the sink would never come there.
    feed.finished(make_record())
    feed.listen({"kind": "epoch", "run": make_record().name})
    feed.close(patience=0.1)
    assert opened["warnings"] == ["the loggers (wandb) were still writing after 0.1 s and are left behind"]
    block.set()


def test_without_loggers_nothing_starts(tmp_path):
    before = threading.active_count()
    with fed([], tmp_path) as feed:
        feed.listen({"kind": "epoch", "run": "x"})
        feed.finished(make_record())
        assert threading.active_count() == before


def test_an_unknown_logger_and_a_missing_package_are_refused_before_anything_starts(tmp_path, monkeypatch):
    with (
        pytest.raises(InputError, match=r"no logger 'tensorbord'\. Did you mean 'tensorboard'\?"),
        fed(["tensorbord"], tmp_path),
    ):
        pass
    monkeypatch.setattr(choose.importlib.util, "find_spec", lambda _: None)
    with (
        pytest.raises(InputError, match=r"the logger mlflow needs .*: pip install 'fairground\[mlflow\]'"),
        fed(["mlflow"], tmp_path),
    ):
        pass
    assert not RunFolder(tmp_path, "x").path.exists()
