"""Each logger for real: what was told is read back by the package the logger writes for, and nothing is there twice."""

import json
import os
import time

import pytest
from mlflow import MlflowClient
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb.proto import wandb_internal_pb2

from fairground.loggers.feed import LOGGERS, introduce, logger_named, numbers_of, results_of
from fairground.loggers.mlflow import EXPERIMENT
from tests.patience import PATIENCE
from tests.records.factory import make_record

RECORD = make_record(epochs=3)
RUN = introduce(RECORD.name, RECORD.spec)
EPOCHS = list(range(4))


def tensorboard_numbers(home) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(home / "tensorboard" / RUN.name))
    found.Reload()
    tags = found.Tags()["scalars"]
    return {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in tags}


def mlflow_client(home) -> MlflowClient:
    return MlflowClient(tracking_uri=f"sqlite:///{home / 'mlflow.db'}")


def mlflow_runs(home) -> list:
    client = mlflow_client(home)
    return client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])


def mlflow_numbers(home) -> dict[str, list[tuple[int, float]]]:
    (run,) = mlflow_runs(home)
    client = mlflow_client(home)
    histories = {name: client.get_metric_history(run.info.run_id, name) for name in run.data.metrics}
    return {name: [(metric.step, metric.value) for metric in history] for name, history in histories.items()}


def records(path):
    """Yield the records of a .wandb file: a log in blocks of 32 KB, each piece of a record after a head of 7 bytes."""
    data, at, pieces = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        if at + 7 + length > len(data):  # still being written
            return
        pieces += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield wandb_internal_pb2.Record.FromString(pieces)
            pieces = b""


def wandb_records(home) -> list:
    paths = sorted(home.glob(f"wandb/offline-run-*/run-{RUN.name}.wandb"))
    return [record for path in paths for record in records(path)]


def wandb_is_complete(home) -> bool:
    return sum(record.HasField("exit") for record in wandb_records(home)) == 2


def wandb_numbers(home) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for record in wandb_records(home):
        row = {item.nested_key[0] if item.nested_key else item.key: item.value_json for item in record.history.item}
        for tag, value in row.items():
            if tag != "epoch" and not tag.startswith("_"):
                found.setdefault(tag, []).append((json.loads(row["epoch"]), json.loads(value)))
        for item in record.summary.update:
            tag = item.nested_key[0] if item.nested_key else item.key
            if tag.startswith("final/"):
                found[tag] = [(3, json.loads(item.value_json))]
    return found


READ = {"tensorboard": tensorboard_numbers, "wandb": wandb_numbers, "mlflow": mlflow_numbers}


def tell_half_then_all(name: str, home) -> None:
    """Tell of the first epochs, let go as a stopped run does, and tell of all of them to a new logger."""
    first = logger_named(name, RUN, home)
    first.write(numbers_of(RECORD.epochs[:2]))
    first.write(numbers_of(RECORD.epochs[:2]))
    first.close("stopped")
    second = logger_named(name, RUN, home)
    second.write(numbers_of(RECORD.epochs))
    second.write([*numbers_of(RECORD.epochs), *results_of(RECORD)])
    second.close("done")


@pytest.fixture(scope="module", params=LOGGERS)
def news(request, tmp_path_factory):
    home = tmp_path_factory.mktemp(f"a home for {request.param}")
    tell_half_then_all(request.param, home)
    deadline = time.monotonic() + PATIENCE
    # wandb writes its files in a process of its own.
    while request.param == "wandb" and not wandb_is_complete(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    return request.param, home


def test_every_number_is_there_once_and_in_order(news):
    name, home = news
    found = READ[name](home)
    key = "validation/map_at_r" if name == "mlflow" else "validation/map@r"
    assert [epoch for epoch, _ in found[key]] == EPOCHS
    assert [value for _, value in found[key]] == pytest.approx([row.validation["map@r"] for row in RECORD.epochs])
    # The untrained model has no loss.
    assert [epoch for epoch, _ in found["train/loss"]] == EPOCHS[1:]
    assert [value for _, value in found["train/step"]] == [40, 80, 120]
    final = key.replace("validation/", "final/test/")
    assert found[final] == [(3, pytest.approx(RECORD.score("map@r")))]
    assert all(len({epoch for epoch, _ in rows}) == len(rows) for rows in found.values())


def test_the_run_has_its_settings_tags_and_end_and_nothing_leaves_the_machine(news):
    name, home = news
    if name == "wandb":
        (begun, *_) = [record.run for record in wandb_records(home) if record.HasField("run")]
        assert (begun.run_id, begun.project) == (RUN.name, "fairground")
        assert set(begun.tags) == {RUN.name, "laptop", "icons"}
        config = {item.key: json.loads(item.value_json) for item in begun.config.update}
        assert config["loss.margin"] == "0.1"
        # One folder for the first part and one for the second, under one id, which `wandb sync` joins.
        assert len(list(home.glob("wandb/offline-run-*"))) in (1, 2)
        assert list(home.glob("wandb/run-*")) == []  # what is not called offline was sent
        assert os.environ["WANDB_ERROR_REPORTING"] == "false"
    if name == "mlflow":
        (run,) = mlflow_runs(home)
        assert run.info.status == "FINISHED"
        assert run.data.params["loss.margin"] == "0.1"
        tags = {key: run.data.tags[f"fairground.{key}"] for key in ("run", "protocol", "state")}
        assert tags == {"run": RUN.name, "protocol": "laptop", "state": "done"}
        assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
