"""An executor by its name, so that a command line or a study says `processes` and need not know the classes."""

from typing import Literal, get_args

from fairground.errors import InputError, require
from fairground.spec.catalogue import nearest
from fairground.studies.executors.executor import Executor, Watch

ExecutorName = Literal["inline", "processes", "ray"]
NAMES: tuple[str, ...] = get_args(ExecutorName)


def executor_named(
    name: str,
    job: str,
    *,
    workers: int = 2,
    threads: int = 1,
    gpus: float = 0.0,
    address: str | None = None,
    node_wait: float | None = None,
    watch: Watch | None = None,
) -> Executor:
    """Return the executor called `name` for one job; `address`, `gpus` and `node_wait` are for Ray alone."""
    require(name in NAMES, f"no executor '{name}'.{nearest(name, NAMES)} There are: {', '.join(NAMES)}.")
    require(address is None or name == "ray", f"an address is for the executor ray; {name} has none")
    require(
        gpus == 0 or name == "ray",
        f"gpus = {gpus:g} accelerators a run is for the executor ray; {name} has no such shares",
    )
    require(node_wait is None or name == "ray", f"node_wait is for the executor ray; {name} has no nodes to wait for")
    if name == "inline":
        from fairground.studies.executors.inline import InlineExecutor

        return InlineExecutor(job, threads=threads, watch=watch)
    if name == "processes":
        from fairground.studies.executors.processes import ProcessExecutor

        return ProcessExecutor(job, workers=workers, threads=threads, watch=watch)
    # Imported only when asked for: Ray is an extra, and takes a second to import.
    try:
        from fairground.studies.executors.ray import NODE_WAIT, RayExecutor
    except ModuleNotFoundError as error:
        raise InputError("the executor ray needs Ray: pip install 'fairground[ray]'") from error
    return RayExecutor(
        job,
        workers=workers,
        threads=threads,
        gpus=gpus,
        address=address,
        node_wait=NODE_WAIT if node_wait is None else node_wait,
        watch=watch,
    )
