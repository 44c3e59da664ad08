"""How glibc reuses freed memory while the command line runs."""

import ctypes
import os
import sys


def keep_memory() -> bool:
    """Let glibc reuse freed memory instead of returning it to the system; return whether it could.

    Every activation of a step is as large as in the step before, and mapping fresh pages takes up to half of a step.
    Results do not depend on it. Processes that this one starts are told by their environment.
    """
    if os.environ.get("FAIRGROUND_KEEP_MEMORY") == "0":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return False
    # The parameters of `mallopt` in glibc's malloc.h, with their names in the environment.
    for variable, parameter, value in (
        ("MALLOC_ARENA_MAX", -8, 1),
        ("MALLOC_MMAP_MAX_", -4, 0),
        ("MALLOC_TRIM_THRESHOLD_", -1, 2**31 - 1),
        ("MALLOC_TOP_PAD_", -2, 64 * 2**20),
    ):
        os.environ.setdefault(variable, str(value))
        if mallopt(parameter, value) != 1:
            return False
    return True
