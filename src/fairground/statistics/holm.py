"""Holm's correction: many comparisons give chance many tries, so that each must be surer.

Formula
    With p_(1) <= ... <= p_(m):  adjusted p_(i) = max over j <= i of  min(1, (m - j + 1) p_(j))
    Rejecting where the adjusted p is at most alpha makes any false rejection at all at most alpha probable, whatever
    the dependence between the tests.

Paper
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 1979.
"""

from collections.abc import Sequence

from fairground.errors import require


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values in the order given."""
    require(all(0 <= p <= 1 for p in p_values), f"p-values lie in [0, 1]; got {list(p_values)[:5]}")
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = least
    return adjusted
