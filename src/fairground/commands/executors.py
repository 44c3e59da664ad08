"""Options of commands that make many runs."""

from dataclasses import dataclass
from typing import Annotated

import typer

from fairground.studies.executors.executor import Executor, Watch, executor_named


@dataclass(frozen=True, kw_only=True)
class ExecutorOptions:
    """An executor by name, how many runs it makes at once, and what each run gets."""

    name: str = "processes"
    workers: int = 2
    threads: int = 1
    gpus: float = 0.0
    address: str | None = None
    node_wait: float | None = None

    def spawn(self, job: str, watch: Watch | None = None) -> Executor:
        """Start the executor for a job named by dotted path."""
        return executor_named(
            self.name,
            job,
            workers=self.workers,
            threads=self.threads,
            gpus=self.gpus,
            address=self.address,
            node_wait=self.node_wait,
            watch=watch,
        )


ExecutorName = Annotated[
    str, typer.Option("--executor", help="Where runs happen: inline, processes (this machine) or ray (a cluster).")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="How many runs at once.")]
WorkerThreads = Annotated[int, typer.Option("--threads", min=1, help="Processor threads per run; they fix the digits.")]
Gpus = Annotated[
    float, typer.Option("--gpus", min=0, help="With ray: accelerators per run, a share of one if below 1.")
]
Address = Annotated[
    str | None, typer.Option("--address", help="The Ray cluster's address (default: the one this machine belongs to).")
]
NodeWait = Annotated[
    float | None,
    typer.Option(
        "--node-wait",
        min=0,
        help="With ray: seconds to wait for a node when none is left, before ending resumably (default 300).",
    ),
]
