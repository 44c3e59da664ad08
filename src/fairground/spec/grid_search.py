"""Grid search: how many values each setting gets, and every combination of them."""

import math
from collections.abc import Mapping
from itertools import product

from fairground.spec import Choice, Integer, Range, Value, require, value_at


def grid_of(ranges: Mapping[str, Range], trials: int) -> list[dict[str, Value]]:
    """Return the points of the largest grid of at most `trials` points, the last range varying fastest.

    A range has the same number of levels as any other, from end to end, evenly or evenly in the logarithm; a choice has
    all its options, and whole numbers have no more levels than there are numbers.
    """
    if not ranges:
        return [{}] if trials else []

    def n_points(size: int) -> int:
        return math.prod(len(_levels(span, size)) for span in ranges.values())

    least = f"{n_points(2)} for a grid over {', '.join(ranges)}, two levels of each range and all options of a choice"
    require(trials >= n_points(2), f"search.trials must be at least {least}; got {trials}")
    size = 2
    while n_points(size) < n_points(size + 1) <= trials:
        size += 1
    levels = [_levels(span, size) for span in ranges.values()]
    return [dict(zip(ranges, point, strict=True)) for point in product(*levels)]


def _levels(span: Range, n: int) -> list[Value]:
    if isinstance(span, Choice):
        return list(span.options)
    if isinstance(span, Integer):
        n = min(n, span.high - span.low + 1)
        return [span.low + round(i * (span.high - span.low) / (n - 1)) for i in range(n)]
    # The ends are exactly those of the range, whatever exp and log make of them.
    return [float(span.low), *(value_at(span, i / (n - 1)) for i in range(1, n - 1)), float(span.high)]
