"""The interval of one method's mean, as the comparison of all methods knows it."""

from fairground.comparison.comparison import Comparison
from fairground.comparison.intervals import Interval


def mean_interval(comparison: Comparison, name: str) -> Interval | None:
    """Return a method's mean with its interval; None where the comparison does not have it."""
    found = next((method for method in comparison.methods if method.name == name), None)
    if found is None:
        return None
    return Interval(mean=found.mean, low=found.low, high=found.high, n=found.n, level=comparison.level, kind="model")
