"""Options of commands that make many runs, and the executor they ask for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fairground.execution.executor import Executor, Watch

ExecutorName = Annotated[
    str, typer.Option("--executor", help="Where runs happen: inline, processes (this machine) or ray (a cluster).")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="How many runs at once.")]
WorkerThreads = Annotated[int, typer.Option("--threads", min=1, help="Processor threads per run; they fix the digits.")]
Gpus = Annotated[
    float, typer.Option("--gpus", min=0, help="With ray: accelerators per run, a share of one if below 1.")
]
Address = Annotated[str | None, typer.Option("--address", help="The Ray cluster's address; none starts one here.")]
Storage = Annotated[
    str | None,
    typer.Option("--storage", help="Where trials are kept, as postgresql+psycopg://...; by default in a file."),
]


@dataclass(frozen=True, kw_only=True)
class ExecutorOptions:
    """Which executor the command line asks for."""

    name: str
    workers: int
    threads: int
    gpus: float
    address: str | None

    def spawn(self, job: str, watch: "Watch | None" = None) -> "Executor":
        """Start the executor for a job named by dotted path."""
        from fairground.execution.choose import executor_named

        return executor_named(
            self.name,
            job,
            workers=self.workers,
            threads=self.threads,
            gpus=self.gpus,
            address=self.address,
            watch=watch,
        )
