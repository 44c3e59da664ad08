"""A small cluster of Ray's own making: the contract of every executor, and workers and nodes that are lost."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

import ray
from ray.cluster_utils import Cluster

from fairground.errors import ClusterError, InputError
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder
from fairground.spec.identity import canonical_json, name_of, to_plain
from fairground.studies.executors.choose import executor_named
from fairground.studies.executors.inline import InlineExecutor
from fairground.studies.executors.processes import ProcessExecutor
from fairground.studies.executors.ray import RayExecutor
from tests.executors.test_processes import children_of, vanishes
from tests.patience import PATIENCE
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
        # A lost node is noticed in seconds, not in half a minute.
        patch.setenv("RAY_health_check_initial_delay_ms", "2000")
        patch.setenv("RAY_health_check_period_ms", "1000")
        patch.setenv("RAY_health_check_failure_threshold", "3")
        head = {"num_cpus": 2, "object_store_memory": 80 << 20, "include_dashboard": False}
        made = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        ray.init(address=made.address, log_to_driver=False, configure_logging=False)
        yield made
        ray.shutdown()
        made.shutdown()


class BigNodes:
    """Nodes of three processors, so that only they, and not the head, have room for a worker of three."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.alive: list = []
        self.n_lost = 0

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


@pytest.fixture
def ray_executor(cluster: Cluster):
    return RayExecutor


def test_outcomes_are_those_of_every_executor_and_each_comes_once(ray_executor) -> None:
    heard: list = []
    arguments = [{"n": n, "epochs": 2} for n in range(12)]
    with ray_executor(f"{JOBS}:double", watch=heard.append) as executor:
        outcomes = list(executor.run(arguments))
        executor.submit({"n": 1})
        with pytest.raises(InputError, match="already under way"):
            executor.submit({"n": 1})
        assert len(list(executor.finished())) == 1
    with InlineExecutor(f"{JOBS}:double") as inline:
        wanted = {outcome.argument["n"]: outcome.result["doubled"] for outcome in inline.run(arguments)}
    assert {outcome.argument["n"]: outcome.result["doubled"] for outcome in outcomes} == wanted
    assert len(outcomes) == 12
    processes = {outcome.result["process"] for outcome in outcomes}
    assert len(processes) <= 2
    assert all(vanishes(process) for process in processes)
    for n in range(12):
        assert [told["epoch"] for told in heard if told.get("run") == n] == [1, 2]
    assert ray.is_initialized(), "a Ray that was there before must be left running"


def test_failures_are_sentences_and_threads_are_pinned(ray_executor) -> None:
    with ray_executor(f"{JOBS}:fail", workers=1) as executor:
        (refused,) = executor.run([{"how": "refusal"}])
        (bug,) = executor.run([{"how": "bug"}])
    assert (refused.failure, refused.attempts) == ("the split is empty", 1)
    assert (bug.failure, bug.attempts) == ("ValueError: a bug", 1)
    assert "Traceback" in bug.details
    with ray_executor(f"{JOBS}:threads", workers=1, threads=2) as executor:
        (outcome,) = executor.run([{}])
    assert set(outcome.result.values()) == {"2"}


def test_a_study_has_the_numbers_it_has_without_ray(cluster: Cluster, tmp_path: Path) -> None:
    study = small()
    study = dataclasses.replace(study, search=dataclasses.replace(study.search, trials=6, startup=3))
    assert digits(study_results(study, tmp_path / "ray", "ray")) == digits(study_results(study, tmp_path / "inline"))


def test_a_worker_process_that_is_killed_is_replaced(ray_executor, tmp_path: Path) -> None:
    heard: list = []
    with ray_executor(f"{JOBS}:die_until_resumed", workers=1, retries=1, watch=heard.append) as executor:
        saved, lost = executor.run([{"n": n, "folder": str(tmp_path), "succeeds_at": 2 + 9 * n} for n in range(2)])
    assert (saved.result, saved.attempts) == ({"attempt": 2}, 2)
    assert "the worker process died 2 times over this job, last: killed by SIGKILL" in lost.failure
    assert {told["worker_died"] for told in heard} == {"killed by SIGKILL; about to be killed"}


def test_an_actor_that_is_killed_takes_its_process_along_and_is_replaced(ray_executor, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_actor(told) -> None:
        if "epoch" in told and not killed:
            killed.append(int((tmp_path / "0.began").read_text()))
            parent = Path(f"/proc/{killed[0]}/stat").read_text().rpartition(")")[2].split()[1]
            os.kill(int(parent), signal.SIGKILL)

    with ray_executor(f"{JOBS}:wait", workers=1, watch=kill_actor) as executor:
        (outcome,) = executor.run([{"n": 0, "folder": str(tmp_path), "seconds": 0.5}])
    assert (outcome.result, outcome.attempts) == ({}, 2)
    assert vanishes(killed[0])


def test_a_lost_node_costs_at_most_what_came_after_the_last_checkpoint(big_nodes: BigNodes, tmp_path: Path) -> None:
    """No file of the node is the driver's."""
    spec = tiny("training.epochs=5")
    argument = {"spec": to_plain(spec), "home": str(tmp_path / "home")}
    heard: list = []

    def pull_the_plug(told) -> None:
        heard.append(told)
        if told["kind"] == "epoch" and told["epoch"] == 2 and not big_nodes.n_lost:
            # First, and without waiting for another to start: on a busy machine the run would end meanwhile.
            big_nodes.lose()
            big_nodes.add()

    # The cluster may offer the lost node once more before it knows.
    settings = {"workers": 1, "threads": 3, "carry_seconds": 0.0, "retries": 5}
    with RayExecutor(f"{JOBS}:slow_run", watch=pull_the_plug, **settings) as executor:
        (outcome,) = executor.run([argument])
    assert outcome.failure is None
    assert outcome.attempts >= 2
    cut = next(i for i, told in enumerate(heard) if told["kind"] == "worker_died")
    assert next(told["epoch"] for told in heard[cut:] if told["kind"] == "batch") > 1, "it began anew"
    folder = RunFolder(tmp_path / "home", name_of(spec))
    assert folder.embeddings.exists()
    assert folder.queries.exists()
    with ProcessExecutor(f"{JOBS}:slow_run", workers=1, threads=3) as executor:
        (undisturbed,) = executor.run([{**argument, "home": str(tmp_path / "other")}])
    first, second = (RunRecord.from_json(canonical_json(found.result)) for found in (outcome, undisturbed))
    assert first.digits() == second.digits()


def test_a_worker_on_another_node_takes_its_folder_along(big_nodes: BigNodes, tmp_path: Path) -> None:
    # Not a moment to wait for a node: there is one.
    with RayExecutor(f"{JOBS}:where", workers=1, threads=3, node_wait=0) as executor:
        (outcome,) = executor.run([{"home": str(tmp_path)}])
        assert outcome.result["is_there"]
        assert outcome.result["home"] != str(tmp_path)
    assert not Path(outcome.result["home"]).exists()


def test_when_the_last_node_dies_the_driver_waits_as_long_as_it_says_and_no_job_is_called_failed(
    big_nodes: BigNodes, tmp_path: Path
) -> None:
    def pull_the_plug(told) -> None:
        if "epoch" in told and big_nodes.alive:
            big_nodes.lose()

    outcomes: list = []
    settings = {"workers": 1, "threads": 3, "retries": 20, "node_wait": 3.0}
    with (
        RayExecutor(f"{JOBS}:wait", watch=pull_the_plug, **settings) as executor,
        pytest.raises(ClusterError, match=r"no node of the cluster has had room for a worker of 3 .* for 3 seconds"),
    ):
        outcomes.extend(executor.run([{"n": 0, "folder": str(tmp_path)}]))
    assert (tmp_path / "0.began").exists()
    assert outcomes == [], "a lost node is no failure of the job"


JSON_DRIVER = f"""
import json
from fairground.commands.terminal import prints_on_stderr
from fairground.studies.executors.processes import ProcessExecutor
from fairground.studies.executors.ray import RayExecutor
with prints_on_stderr(), RayExecutor("{JOBS}:double", workers=1) as executor:
    (outcome,) = executor.run([dict(n=21)])
print(json.dumps(outcome.result["doubled"]))
"""


def test_what_ray_prints_never_reaches_the_output(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", JSON_DRIVER], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == 42


def test_impossible_wishes_are_refused_in_a_sentence(cluster: Cluster) -> None:
    with pytest.raises(InputError, match=r"no node of the cluster has room for a worker of 1 processors and 0.5 accel"):
        RayExecutor(f"{JOBS}:double", gpus=0.5)
    with pytest.raises(InputError, match="node_wait must be 0 seconds or more; got -1"):
        RayExecutor(f"{JOBS}:double", node_wait=-1)
    with pytest.raises(InputError, match="node_wait is for the executor ray; processes has no nodes to wait for"):
        executor_named("processes", f"{JOBS}:double", node_wait=9)
    with pytest.raises(InputError, match="a cluster's address is host:port or auto"):
        RayExecutor(f"{JOBS}:double", address="ray://somewhere:10001")


DRIVER = f"""
import signal, sys
# Background jobs inherit that Ctrl-C is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from fairground.studies.executors.processes import ProcessExecutor
from fairground.studies.executors.ray import RayExecutor
with RayExecutor("{JOBS}:wait", workers=1) as executor:
    for outcome in executor.run([dict(n=0, folder=sys.argv[1])]):
        pass
"""


def strangers_may_connect(processes: set[int]) -> bool:
    """Tell whether any of these processes listens on more than the loopback interface."""
    sockets = {str(fd.readlink()) for p in processes for fd in Path(f"/proc/{p}/fd").glob("*") if fd.is_symlink()}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            is_loopback = words[1].startswith(("0100007F:", "0000000000000000FFFF00000100007F:")) or (
                words[1].startswith("00000000000000000000000001000000:")
            )
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets and not is_loopback:
                return True
    return False


def test_a_ray_of_its_own_listens_to_nobody_else_and_leaves_with_ctrl_c(tmp_path: Path) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path)], cwd=ROOT, stderr=subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE
    while not (tmp_path / "0.began").exists():
        assert driver.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    family = children_of(driver.pid)
    assert len(family) >= 3
    assert not strangers_may_connect({driver.pid, *family})
    driver.send_signal(signal.SIGINT)
    words = driver.communicate(timeout=PATIENCE)[1]
    assert b"KeyboardInterrupt" in words
    assert (tmp_path / "0.checkpoint").exists()
    assert all(vanishes(process) for process in family)
