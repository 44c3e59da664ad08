"""How many processor threads a job uses: said to a worker by its environment, set in this process around the job.

Sums that are split over other numbers of threads round differently, so the number is part of what fixes the digits, and
every executor holds its jobs to the one that was asked for.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: every library that may start threads of its own reads one of these, once, when it is imported
_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def environment_of(threads: int) -> dict[str, str]:
    """Return the variables that hold a new process to so many threads."""
    return dict.fromkeys(_VARIABLES, str(threads))


@contextmanager
def limited_to(threads: int) -> Iterator[None]:
    """Hold the libraries that this process has loaded to so many threads while the block lasts."""
    from threadpoolctl import threadpool_limits

    # This room never imports torch: the job has, if it needs it. Torch's own copy of MKL listens to torch alone.
    torch = sys.modules.get("torch")
    before = None if torch is None else torch.get_num_threads()
    said = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        with threadpool_limits(limits=threads):
            if torch is not None:
                torch.set_num_threads(threads)
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(before)
        if said is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = said
