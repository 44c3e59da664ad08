"""Compared by a metric that hides differences, or at a level where it has no room left.

Flaw
    MLRC section 2.2, figure 1 and table 3: Recall@1 is nearly 100 for three embedding spaces of different quality.
    Table 2: NMI of untrained networks is 81.2 on SOP, because there are many classes.
"""

from fairground.fairness.evidence import Evidence, Flag
from fairground.fairness.flags.clustering import METRICS as CLUSTERING

FULL = 0.99


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for a metric known to be uninformative, and one when all methods are at its ceiling."""
    found = []
    stem = evidence.metric.partition("@")[0]
    labels = tuple(evidence.methods)
    if stem == "recall" or stem in CLUSTERING:
        why = (
            "Recall looks for one classmate and ignores the rest; MAP@R sees them all (MLRC 2.2)."
            if stem == "recall"
            else "It needs clusters, and is high for many classes whatever the model (MLRC 2.2, table 2)."
        )
        text = f"Compared by {evidence.metric}, which tells less than map@r."
        found.append(Flag(flag="weak_metric", methods=labels, text=text, why=why))
    values = [list(evidence.values(label).values()) for label in labels]
    if all(some and FULL <= sum(some) / len(some) <= 1 for some in values):
        text = f"Every method has a {evidence.metric} of 99 % or more."
        why = "At the ceiling methods of different quality look equal (MLRC 2.2, figure 1)."
        found.append(Flag(flag="weak_metric", methods=labels, text=text, why=why))
    return found
