"""A grid of settings: every range cut into levels, every combination tried once.

Formula
    levels of a range: k from end to end, evenly, or evenly in the logarithm; all options of a choice, and no more whole
    numbers than there are
    k is the largest number for which the combinations are no more than the trials allowed
"""

import math
from collections.abc import Mapping
from itertools import count, product

from fairground.errors import require
from fairground.spec.settings import Value
from fairground.spec.space import Choice, Integer, LogReal, Range

#: settings are rounded as those of other searches are
_DIGITS = 6


def grid_of(ranges: Mapping[str, Range], trials: int) -> list[dict[str, Value]]:
    """Return the points of the largest grid of at most `trials` points, the last range varying fastest."""
    if not ranges:
        return [{}] if trials else []
    fewest = math.prod(len(_levels(span, 2)) for span in ranges.values())
    require(
        trials >= fewest,
        f"search.trials must be at least {fewest} for a grid over {', '.join(ranges)}, two levels of each range and "
        f"all options of a choice; got {trials}",
    )
    size = 2
    for more in count(3):
        n = math.prod(len(_levels(span, more)) for span in ranges.values())
        if n > trials or n == math.prod(len(_levels(span, more - 1)) for span in ranges.values()):
            break
        size = more
    levels = [_levels(span, size) for span in ranges.values()]
    return [dict(zip(ranges, point, strict=True)) for point in product(*levels)]


def _levels(span: Range, n: int) -> list[Value]:
    if isinstance(span, Choice):
        return list(span.options)
    shares = [i / (n - 1) for i in range(n)]
    if isinstance(span, Integer):
        n = min(n, span.high - span.low + 1)
        return [span.low + round(i * (span.high - span.low) / (n - 1)) for i in range(n)]
    if isinstance(span, LogReal):
        low, high = math.log(span.low), math.log(span.high)
        inner = [math.exp(low + share * (high - low)) for share in shares]
    else:
        inner = [span.low + share * (span.high - span.low) for share in shares]
    # The ends are exactly those of the range, whatever exp and log make of them.
    return [float(span.low), *(float(f"{value:.{_DIGITS}g}") for value in inner[1:-1]), float(span.high)]
