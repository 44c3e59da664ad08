"""Memory that is used again: fresh pages cost more to get than to fill."""

import math
import threading
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import DTypeLike

_held = threading.local()


def scratch(*wanted: tuple[Sequence[int], DTypeLike]) -> list[np.ndarray]:
    """Return an uninitialised array for each shape and type wanted; this thread's next call may give them out again."""
    sizes = [math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in wanted]
    # Each array begins at a multiple of 64 bytes, the width of a cache line.
    starts = [0, *accumulate(-(-size // 64) * 64 for size in sizes)]
    if getattr(_held, "memory", None) is None or len(_held.memory) < starts[-1]:
        _held.memory = np.empty(starts[-1], dtype=np.uint8)
    return [
        _held.memory[start : start + size].view(dtype).reshape(shape)
        for (shape, dtype), start, size in zip(wanted, starts, sizes, strict=False)
    ]
