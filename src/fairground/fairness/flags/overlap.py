"""One method called better than another although their intervals overlap.

Flaw
    MLRC section 2.1: small improvements are claimed without intervals that would show whether they mean anything.

A paired test can rightly separate methods whose own intervals overlap, because shared seeds move both. A reader who
sees only the table cannot know that, so it is said.
"""

from fairground.fairness.evidence import Evidence, Flag
from fairground.statistics.intervals import t_interval


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for every claim whose two intervals share a value, or of which one is missing."""
    found = []
    for better, worse in evidence.claims:
        high, low = list(evidence.values(better).values()), list(evidence.values(worse).values())
        if high and low and t_interval(high).overlaps(t_interval(low)):
            text = f"{better} is called better than {worse} while their intervals overlap."
            why = "Only a paired test on shared seeds can support that; the two means alone do not."
            found.append(Flag(flag="overlap", methods=(better, worse), text=text, why=why))
    return found
