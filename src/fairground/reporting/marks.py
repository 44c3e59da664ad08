"""Which methods of a table are marked: ★ best, ≈ equivalent to the best, ? not settled.

Marked are the methods that no other is better than: `best` the leader once nothing is open, `equivalent` what is shown
to be within the margin of the leader, `unsettled` the leader and what these runs cannot tell from it. A method of one
run is left out: one run cannot tell a better method from a lucky one.
"""

from typing import Literal

from fairground.comparison.comparison_result import Comparison

Mark = Literal["best", "equivalent", "unsettled", ""]


def marks_of(comparison: Comparison) -> dict[str, Mark]:
    """Return the marks of the methods that no other is better than; none where fewer than two have several runs."""
    comparison = comparison.repeated
    if len(comparison.methods) < 2:
        return {}
    leader, *others = comparison.best
    found: dict[str, Mark] = {}
    for label in others:
        found[label] = "equivalent" if comparison.pair(leader, label).verdict == "equivalent" else "unsettled"
    return {leader: "unsettled" if "unsettled" in found.values() else "best", **found}
