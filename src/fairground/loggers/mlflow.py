"""MLflow: one SQLite file, <run directory>/mlflow.db, in the experiment `fairground`, without a server or telemetry.

Read with: mlflow ui --backend-store-uri sqlite:///<run directory>/mlflow.db
"""

import logging
import os
import time
from collections.abc import Iterable
from pathlib import Path

# Before the import, which would otherwise begin to report its use.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ.setdefault("DO_NOT_TRACK", "true")

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag

from fairground.loggers.feed import Introduction, Number

EXPERIMENT = "fairground"
#: how many MLflow takes at a time, and how long a value may be
_MOST, _LONGEST = 100, 500
_STATES = {"done": "FINISHED", "stopped": "KILLED"}

logging.getLogger("mlflow").setLevel(logging.WARNING)
logging.getLogger("alembic").setLevel(logging.WARNING)


class MlflowLogger:
    """MLflow names runs itself: ours is found again by the tag `fairground.run`."""

    def __init__(self, run: Introduction, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._client = MlflowClient(tracking_uri=f"sqlite:///{(home / 'mlflow.db').absolute()}")
        known = self._client.get_experiment_by_name(EXPERIMENT)
        place = (home / "mlflow-artifacts").absolute().as_uri()
        experiment = known.experiment_id if known else self._client.create_experiment(EXPERIMENT, place)
        found = self._client.search_runs([experiment], f"tags.`fairground.run` = '{run.name}'", max_results=1)
        if found:
            self._id = found[0].info.run_id
            self._client.update_run(self._id, status="RUNNING")
        else:
            self._id = self._client.create_run(experiment, run_name=run.title).info.run_id
            self._log("params", [Param(key, value[:_LONGEST]) for key, value in run.settings.items()])
            # The tags last: a run without them was killed while it was being introduced, and is not resumed.
            self._log("tags", [RunTag(f"fairground.{key}", value) for key, value in run.tags.items()])
        names = self._client.get_run(self._id).data.metrics
        histories = [self._client.get_metric_history(self._id, name) for name in names]
        self._held = {(metric.key, metric.step) for history in histories for metric in history}

    def write(self, numbers: Iterable[Number]) -> None:
        now = int(1000 * time.time())
        fresh = {(_name(tag), epoch): value for tag, epoch, value in numbers if (_name(tag), epoch) not in self._held}
        self._log("metrics", [Metric(key, value, now, epoch) for (key, epoch), value in fresh.items()])
        self._held |= set(fresh)

    def close(self, state: str) -> None:
        self._client.set_tag(self._id, "fairground.state", state)
        self._client.set_terminated(self._id, status=_STATES.get(state, "FAILED"))

    def _log(self, kind: str, things: list[object]) -> None:
        for start in range(0, len(things), _MOST):
            self._client.log_batch(self._id, **{kind: things[start : start + _MOST]})


def _name(tag: str) -> str:
    """Return a name MLflow takes: `map@r` is `map_at_r` there."""
    kept = tag.replace("@", "_at_")
    return "".join(sign if sign.isalnum() or sign in "_-. /" else "_" for sign in kept)
