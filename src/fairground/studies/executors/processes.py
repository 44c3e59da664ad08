"""Run jobs in worker processes on this machine, each held to its own number of threads.

Workers are kept between jobs, because importing torch costs seconds. A worker that dies (kill -9, out of memory) takes
nothing with it: its job is given to a fresh one and resumes from its own checkpoint.
"""

import threading

from fairground.errors import require
from fairground.studies.executors.executor import Watch
from fairground.studies.executors.local_worker import LocalWorker
from fairground.studies.executors.supervised_workers import SupervisedExecutor


class ProcessExecutor(SupervisedExecutor):
    """`workers` processes of `threads` threads each.

    A job whose worker died is tried again up to `retries` times, an exception in a job never. On closing, jobs under
    way have `grace` seconds to leave a resumable run before they are killed.
    """

    def __init__(
        self,
        job: str,
        *,
        workers: int = 2,
        threads: int = 1,
        retries: int = 2,
        grace: float = 20.0,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(job, workers=workers, retries=retries, grace=grace, watch=watch)
        require(threads >= 1, f"threads must be at least 1; got {threads}")
        self._threads = threads

    def _spawn(self, is_stopping: threading.Event) -> LocalWorker | None:
        return LocalWorker(threads=self._threads)
