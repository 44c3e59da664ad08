"""A small Ray cluster: what every executor does, and workers and nodes that are lost."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

import ray
from ray.cluster_utils import Cluster

from fairground.errors import InputError
from fairground.studies.executors.executor import executor_named
from fairground.studies.executors.processes import ProcessExecutor
from fairground.studies.executors.ray import RayExecutor
from fairground.studies.scheduler import JOB
from tests.executors.test_executors import numbered, record
from tests.executors.test_processes import appears
from tests.studies.test_run_study import digits, small, study_results
from tests.training.tiny import tiny

JOBS = "tests.executors.jobs"
ROOT = Path(__file__).parents[2]


def patiently(make):
    """Ray gives a node 30 seconds to come up, and other tests may keep the machine busy that long."""
    for _ in range(3):
        try:
            return make()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return make()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        # What a worker inherits: the jobs of the tests must be found on a node too.
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # A lost node, which refuses the connection, is noticed in a second and not in half a minute. One that is only
        # slow, as on a busy machine, has minutes to answer: Ray ends the driver, and pytest with it, when it takes the
        # head for dead. Nor may it end workers because other tests fill the memory.
        for key, value in {
            "health_check_initial_delay_ms": 1000,
            "health_check_period_ms": 300,
            "health_check_failure_threshold": 3,
            "health_check_timeout_ms": 120_000,
            "gcs_rpc_server_connect_timeout_s": 120,
            "gcs_rpc_server_reconnect_timeout_s": 300,
            "memory_monitor_refresh_ms": 0,
        }.items():
            patch.setenv(f"RAY_{key}", str(value))
        head = {"num_cpus": 2, "object_store_memory": 80 << 20, "include_dashboard": False}
        made = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        ray.init(address=made.address, log_to_driver=False, configure_logging=False)
        yield made
        ray.shutdown()
        made.shutdown()


@dataclasses.dataclass
class BigNodes:
    """Nodes of three processors, so that only they, and not the head, have room for a worker of three."""

    cluster: Cluster
    alive: list = dataclasses.field(default_factory=list)
    n_lost: int = 0

    def add(self) -> None:
        self.alive.append(patiently(lambda: self.cluster.add_node(num_cpus=3, object_store_memory=80 << 20)))

    def lose(self) -> None:
        self.cluster.remove_node(self.alive.pop(), allow_graceful=False)
        self.n_lost += 1


@pytest.fixture
def big_nodes(cluster: Cluster) -> Iterator[BigNodes]:
    """One node of three processors; whatever is left at the end goes, so that the next test finds the head alone."""
    nodes = BigNodes(cluster)
    nodes.add()
    yield nodes
    while nodes.alive:
        nodes.lose()


def test_outcomes_are_those_of_every_executor_and_each_comes_once(cluster: Cluster) -> None:
    heard: list = []
    jobs = numbered(*({"n": n, "epochs": 2} for n in range(6)))
    with RayExecutor(f"{JOBS}:double", watch=heard.append) as executor:
        outcomes = list(executor.run(jobs))
    assert {outcome.job_id: outcome.result["doubled"] for outcome in outcomes} == {str(n): 2 * n for n in range(6)}
    assert len(outcomes) == 6
    for n in range(6):
        assert [told["epoch"] for told in heard if told.get("run") == n] == [1, 2]
    assert ray.is_initialized(), "a Ray that was there before must be left running"


def test_failures_are_sentences_and_threads_are_pinned(cluster: Cluster) -> None:
    with RayExecutor(f"{JOBS}:fail", workers=1) as executor:
        (refused,) = executor.run({"a": {"how": "refusal"}})
        (bug,) = executor.run({"a": {"how": "bug"}})
    assert (refused.failure, refused.attempts) == ("the split is empty", 1)
    assert (bug.failure, bug.attempts) == ("ValueError: a bug", 1)
    with RayExecutor(f"{JOBS}:threads", workers=1, threads=2) as executor:
        (outcome,) = executor.run({"a": {}})
    assert set(outcome.result.values()) == {"2"}


def test_a_run_and_a_study_have_the_numbers_they_have_without_ray(cluster: Cluster, tmp_path: Path) -> None:
    assert record("ray", 2, tmp_path / "one").digits() == record("inline", 2, tmp_path / "other").digits()
    study = small()
    study = dataclasses.replace(study, search=dataclasses.replace(study.search, trials=6, startup=3))
    assert digits(study_results(study, tmp_path / "ray", "ray")) == digits(study_results(study, tmp_path / "inline"))


def test_a_lost_node_costs_at_most_what_came_after_the_last_checkpoint(big_nodes: BigNodes, tmp_path: Path) -> None:
    spec = tiny("training.epochs=5")
    heard: list = []

    def pull_the_plug(told) -> None:
        heard.append(told)
        if told["kind"] == "epoch" and told["row"]["epoch"] == 2 and not big_nodes.n_lost:
            # First, and without waiting for another to start: on a busy machine the run would end meanwhile.
            big_nodes.lose()
            big_nodes.add()

    def argument(name: str) -> dict:
        (tmp_path / name).mkdir()
        return {"spec": spec, "home": str(tmp_path / name)}

    # The cluster may offer the lost node once more before it knows.
    with RayExecutor(f"{JOBS}:slow_run", watch=pull_the_plug, workers=1, threads=3, retries=5) as executor:
        (outcome,) = executor.run({"a": argument("home")})
    assert outcome.failure is None
    assert outcome.attempts >= 2
    cut = next(i for i, told in enumerate(heard) if told["kind"] == "worker_died")
    assert next(told["epoch"] for told in heard[cut:] if told["kind"] == "batch") > 1, "it began again"
    with ProcessExecutor(JOB, workers=1, threads=3) as executor:
        (undisturbed,) = executor.run({"a": argument("other")})
    assert outcome.result.digits() == undisturbed.result.digits()


def test_impossible_wishes_and_idle_gpus_are_named_in_a_sentence(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"no node of the cluster has room for a worker of 1 processors and 0.5 GPUs"):
        RayExecutor(f"{JOBS}:double", gpus_per_run=0.5)
    with pytest.raises(InputError, match="address = here:1 is for the executor ray, not for processes"):
        executor_named("processes", f"{JOBS}:double", address="here:1")
    heard: list = []
    monkeypatch.setattr("fairground.studies.executors.ray._live_nodes", lambda: [{"CPU": 2, "GPU": 4}])
    with RayExecutor(f"{JOBS}:double", watch=heard.append) as executor:
        assert heard[0]["note"] == "the cluster's GPUs stay idle: --gpus-per-run 1 gives each run one"
        (outcome,) = executor.run({"a": {"n": 1, "home": str(tmp_path / "elsewhere")}})
    assert outcome.is_store_failure
    assert "several machines need a --home they share" in outcome.failure


def test_closing_interrupts_the_jobs_and_leaves_resumable_runs(cluster: Cluster, tmp_path: Path) -> None:
    with RayExecutor(f"{JOBS}:wait", workers=1) as executor:
        executor.submit("0", {"n": 0, "folder": str(tmp_path), "nap": 0.05})
        appears(tmp_path / "0.began")
    assert appears(tmp_path / "0.checkpoint") == "resumable"
