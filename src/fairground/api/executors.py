"""Which executor makes the runs of a study, as the caller said."""

from dataclasses import dataclass

from fairground.studies.executors.choose import executor_named
from fairground.studies.executors.executor import Executor, Watch


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
