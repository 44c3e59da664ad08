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
from mlflow.exceptions import MlflowException

from fairground.loggers.feed import Introduction, Number, RunLogger

EXPERIMENT = "fairground"
#: how many MLflow takes at a time, and how long a value may be
_MOST_METRICS, _MOST_PARAMS, _LONGEST = 1000, 100, 500
_STATES = {"done": "FINISHED", "stopped": "KILLED"}

logging.getLogger("mlflow").setLevel(logging.WARNING)
logging.getLogger("alembic").setLevel(logging.WARNING)


class MlflowLogger(RunLogger):
    """MLflow names runs itself: ours is found again by the tag `fairground.run`."""

    def __init__(self, run: Introduction, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._client = MlflowClient(tracking_uri=f"sqlite:///{(home / 'mlflow.db').absolute()}")
        experiment = self._experiment(home)
        found = self._client.search_runs([experiment], f"tags.`fairground.run` = '{run.name}'", max_results=1)
        self._id = found[0].info.run_id if found else self._create(experiment, run)
        names = self._client.get_run(self._id).data.metrics
        histories = [self._client.get_metric_history(self._id, name) for name in names]
        self._held = {(metric.key, metric.step) for history in histories for metric in history}
        if found:
            self._client.update_run(self._id, status="RUNNING")

    def write(self, numbers: Iterable[Number]) -> None:
        now = int(1000 * time.time())
        fresh = {(_name(tag), epoch): value for tag, epoch, value in numbers if (_name(tag), epoch) not in self._held}
        metrics = [Metric(key, value, now, epoch) for (key, epoch), value in fresh.items()]
        for start in range(0, len(metrics), _MOST_METRICS):
            self._client.log_batch(self._id, metrics=metrics[start : start + _MOST_METRICS])
        self._held |= set(fresh)

    def close(self, state: str) -> None:
        self._client.set_tag(self._id, "fairground.state", state)
        self._client.set_terminated(self._id, status=_STATES.get(state, "FAILED"))

    def _experiment(self, home: Path) -> str:
        known = self._client.get_experiment_by_name(EXPERIMENT)
        if known is None:
            try:
                place = (home / "mlflow-artifacts").absolute().as_uri()
                return str(self._client.create_experiment(EXPERIMENT, artifact_location=place))
            except MlflowException:  # another process was quicker
                known = self._client.get_experiment_by_name(EXPERIMENT)
        assert known is not None
        return str(known.experiment_id)

    def _create(self, experiment: str, run: Introduction) -> str:
        made = self._client.create_run(experiment, run_name=run.title)
        params = [Param(key, value[:_LONGEST]) for key, value in run.settings.items()]
        for start in range(0, len(params), _MOST_PARAMS):
            self._client.log_batch(made.info.run_id, params=params[start : start + _MOST_PARAMS])
        # The tag last: a run without it was killed while it was being introduced, and is not resumed.
        tags = [RunTag(f"fairground.{key}", value) for key, value in run.tags.items()]
        self._client.log_batch(made.info.run_id, tags=tags)
        return str(made.info.run_id)


def _name(tag: str) -> str:
    """Return a name MLflow takes: `map@r` is `map_at_r` there."""
    kept = tag.replace("@", "_at_")
    return "".join(sign if sign.isalnum() or sign in "_-. /" else "_" for sign in kept)
