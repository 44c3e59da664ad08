"""Run jobs on a Ray cluster, or on this machine with no cluster at all.

    RayExecutor(JOB)                                a Ray of its own, on this machine, loopback only, gone when closed
    RayExecutor(JOB, address="10.0.0.1:6379")       a cluster this machine has joined by `ray start`; never shut down

Records and files need no shared disk: what a job tells, its newest checkpoint and what a finished run leaves come back
to the driver's home. A job whose worker or node is lost is tried again elsewhere from the checkpoint the driver has.
When no node is left that could run a job, the driver waits for `node_wait` seconds and then ends with a ClusterError.
"""

import os
import shutil
import tempfile
import threading
import time
from typing import Any

import ray
from ray._private import ray_constants

from fairground.errors import ClusterError, FairgroundError, InputError, require
from fairground.records.provenance import code_version
from fairground.studies.executors.executor import Watch
from fairground.studies.executors.ray_worker import RayWorker, WorkerHost
from fairground.studies.executors.supervised_workers import SupervisedExecutor

#: the same, for those of its functions that have no types
_cluster: Any = ray
#: seconds to wait for a node when none is left
NODE_WAIT = 300.0
#: seconds between two looks at the nodes of the cluster
_LOOK = 1.0


class RayExecutor(SupervisedExecutor):
    """Up to `workers` workers, each with `threads` processors and `gpus` accelerators, a part of one if below 1.

    Without an `address` the Ray this process has joined already is used, or one is started. `carry_seconds` is how
    often, at ends of epochs, a checkpoint travels to the driver; `node_wait` how many seconds to wait for a node when
    none is left that has room for a worker. The other settings are those of `ProcessExecutor`.
    """

    def __init__(
        self,
        job: str,
        *,
        workers: int = 2,
        threads: int = 1,
        gpus: float = 0.0,
        address: str | None = None,
        retries: int = 2,
        grace: float = 20.0,
        carry_seconds: float = 60.0,
        node_wait: float = NODE_WAIT,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(job, workers=workers, retries=retries, grace=grace, watch=watch)
        require(threads >= 1, f"threads must be at least 1; got {threads}")
        require(gpus >= 0, f"gpus must be 0 or more; got {gpus}")
        require(node_wait >= 0, f"node_wait must be 0 seconds or more; got {node_wait}")
        self._threads, self._gpus = threads, gpus
        self._carry_seconds, self._node_wait = carry_seconds, node_wait
        self._temporary: str | None = None
        self._is_ours = not ray.is_initialized()
        if address is not None:
            self._is_ours = join(address)
        elif self._is_ours:
            self._temporary = start(processors=workers * threads)
        try:
            self._require_room()
        except BaseException:
            self._leave()
            raise
        self._home_node = ray.get_runtime_context().get_node_id()

    def close(self) -> None:
        """Interrupt the jobs under way and release their places; a cluster that was joined stays up."""
        try:
            super().close()
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._is_ours and ray.is_initialized():
            # Ends a Ray this process started, and merely leaves one it joined.
            ray.shutdown()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _spawn(self, is_stopping: threading.Event) -> RayWorker | None:
        place: Any = ray.remote(WorkerHost).options(
            num_cpus=self._threads, num_gpus=self._gpus, max_restarts=0, max_task_retries=0, max_concurrency=4
        )
        host: Any = place.remote(self._threads, self._home_node, self._carry_seconds)
        try:
            if not self._is_placed(host.ready.remote(), is_stopping):
                ray.kill(host)
                return None
        except (ray.exceptions.RayError, InputError) as error:
            ray.kill(host)
            raise OSError(_first_line(error)) from error
        except ClusterError:
            ray.kill(host)
            raise
        return RayWorker(host)

    def _is_placed(self, ready: Any, is_stopping: threading.Event) -> bool:
        """Wait for a place: as long as the cluster is full, and `node_wait` seconds where it has no node for us."""
        looked = had_room = time.monotonic()
        while not ray.wait([ready], timeout=0.25)[0]:
            if is_stopping.is_set():
                return False
            now = time.monotonic()
            if now - looked >= _LOOK:
                looked = now
                had_room = now if self._has_room(_live_nodes()) else had_room
                self._require_patience(now - had_room)
        _require_same(ray.get(ready))
        return True

    def _require_patience(self, waited: float) -> None:
        require(
            waited <= self._node_wait,
            f"no node of the cluster has had room for a worker of {self._threads} processors and {self._gpus:g} "
            f"accelerators for {self._node_wait:g} seconds (--node-wait). Checkpoints and records are safe: "
            "start a node and run the same command again",
            ClusterError,
        )

    def _has_room(self, nodes: list[dict[str, Any]]) -> bool:
        return any(_fits(node, self._threads, self._gpus) for node in nodes)

    def _require_room(self) -> None:
        nodes = _live_nodes()
        has_room = self._has_room(nodes)
        most = {kind: max((node.get(kind, 0) for node in nodes), default=0) for kind in ("CPU", "GPU")}
        require(
            has_room,
            f"no node of the cluster has room for a worker of {self._threads} processors and {self._gpus:g} "
            f"accelerators: the most on one node are {most['CPU']:g} and {most['GPU']:g}",
        )


def start(*, processors: int) -> str:
    """Start a Ray for this process alone, on the loopback interface; return its folder, to be removed afterwards."""
    folder = tempfile.mkdtemp(prefix="fair-ray-")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    were_clusters_on = ray_constants.ENABLE_RAY_CLUSTER
    # Ray's own switch for Windows and macOS, private on Linux. There is no public way to the loopback interface: an
    # address of 127.0.0.1 is replaced by the machine's own, and any other makes Ray listen on every interface.
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init(
            num_cpus=max(processors, os.cpu_count() or 1),
            include_dashboard=False,
            configure_logging=False,
            log_to_driver=False,
            object_store_memory=256 << 20,
            _temp_dir=folder,
        )
    except Exception as error:  # Ray's own, of no narrower kind
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
        raise FairgroundError(f"Ray could not be started on this machine: {_first_line(error)}") from error
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = were_clusters_on
    return folder


def join(address: str) -> bool:
    """Join a running cluster; return whether this call did, and so whether to leave it again."""
    require(
        "://" not in address,
        f"a cluster's address is host:port or auto; got '{address}'. Join it on this machine with "
        "`ray start --address=host:port`, then say --address auto",
    )
    if ray.is_initialized():
        return False
    try:
        ray.init(address=address, configure_logging=False, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(f"no Ray cluster answers at {address}: {_first_line(error)}") from error
    return True


def _live_nodes() -> list[dict[str, Any]]:
    """Return what each living node has."""
    return [node["Resources"] for node in _cluster.nodes() if node["Alive"]]


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _fits(node: dict[str, Any], threads: int, gpus: float) -> bool:
    return bool(node.get("CPU", 0) >= threads and node.get("GPU", 0) >= gpus)


def _require_same(version: str) -> None:
    require(
        version == code_version(),
        f"a node of the cluster has fairground {version}, the driver {code_version()}: install the same on all",
    )
