"""The same protocol.

Flaw
    MLRC section 2.1: numbers copied from papers with other training and evaluation are set side by side as if only the
    method had changed.
"""

from fairground.fairness.agreement import settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("protocol",)
WHY = "A protocol fixes data, network, budget and judgement together; numbers of two protocols answer two questions."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    return settings_agree(evidence, rule="protocol", owns=OWNS, why=WHY)
