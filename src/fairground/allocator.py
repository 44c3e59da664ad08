"""Let the C library keep the memory that a network or a simulation gives back, instead of returning it to the system.

Every activation of a step is as large as that of the step before, and so are the draws of a comparison. glibc maps such
blocks anew each time and unmaps them afterwards, and the system clears every page: up to half of the time of a step, a
quarter of that of the draws, goes there. Told to keep what it has, it hands the same pages out again. No digit depends
on it. `FAIRGROUND_KEEP_MEMORY=0` leaves the allocator as it is.
"""

import ctypes
import os
import platform
from functools import cache

#: the parameters of `mallopt` in glibc's malloc.h
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8
#: memory above this is still given back when it lies at the end of the heap; the largest number `mallopt` takes
_NEVER = 2**31 - 1
#: how much the heap grows by at once
_STEP = 64 * 2**20


@cache
def keep_memory() -> bool:
    """Tell the allocator of this process, once; return whether it could be told."""
    if os.environ.get("FAIRGROUND_KEEP_MEMORY") == "0" or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, _NEVER), (_TOP_PAD, _STEP))
    answers = [mallopt(parameter, value) for parameter, value in settings]
    return all(answer == 1 for answer in answers)
