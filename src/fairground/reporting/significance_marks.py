"""The marks of a table: who is best, who is not distinguishable from the best, and who is undecided."""

from typing import Literal

from fairground.comparison.comparison_result import Comparison

#: `best` the leader once it is settled against all, `equivalent` within the margin of the leader, `unsettled` the
#: leader and what these runs cannot tell from it
Mark = Literal["best", "equivalent", "unsettled", ""]


def marks_of(comparison: Comparison) -> dict[str, Mark]:
    """Return the marks of the methods that no other is better than.

    A method of one run has no mark: one run cannot tell a better method from a lucky one.
    """
    comparison = comparison.repeated
    if len(comparison.methods) < 2:
        return {}
    leader, *others = comparison.best
    found: dict[str, Mark] = {}
    for label in others:
        found[label] = "equivalent" if comparison.pair(leader, label).verdict == "equivalent" else "unsettled"
    return {leader: "unsettled" if "unsettled" in found.values() else "best", **found}
