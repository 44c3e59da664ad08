"""What the machine can do at best: the rate of large matrix products and of copying memory, measured here and now."""

import time
from collections.abc import Callable

import torch

#: rows of the square matrices multiplied, and numbers copied: both far beyond the caches
ROWS = 2048
NUMBERS = 2**25
TURNS = 3

Clock = Callable[[], float]


def gemm_gigaflops(clock: Clock = time.perf_counter) -> float:
    """Return the best rate of a float32 product of square matrices, in 10^9 operations a second of `clock`."""
    left, right = torch.randn(ROWS, ROWS), torch.randn(ROWS, ROWS)
    out = torch.empty(ROWS, ROWS)
    return 2 * ROWS**3 / _best(lambda: torch.mm(left, right, out=out), clock) / 1e9


def copy_gigabytes() -> float:
    """Return the best rate of copying memory, read and written, in 10^9 bytes a second."""
    source, target = torch.ones(NUMBERS), torch.empty(NUMBERS)
    return 2 * source.nbytes / _best(lambda: target.copy_(source)) / 1e9


def sentence() -> str:
    """Return both rates as the benchmarks print them."""
    threads = torch.get_num_threads()
    return (
        f"Peak now, {threads} threads: {gemm_gigaflops():.0f} GFLOP/s in float32 products of {ROWS:,} rows, "
        f"{copy_gigabytes():.1f} GB/s copying memory."
    )


def _best(work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    best = float("inf")
    work()
    for _ in range(TURNS):
        begun = clock()
        work()
        best = min(best, clock() - begun)
    return best
