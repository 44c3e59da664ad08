"""The same classes trained on, validated on and tested on.

Flaw
    MLRC section 2.3: most papers train on all of the first half of the classes and have no validation set; methods that
    hold classes out for validation learn from fewer. Other test classes are another test.
"""

from fairground.fairness.agreement import facts_agree, settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("split",)
WHY = "More training classes or easier test classes raise the score whatever the loss."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    found = settings_agree(evidence, rule="split", owns=OWNS, why=WHY)
    return found + facts_agree(
        evidence,
        rule="split",
        what="split fingerprint",
        fact=lambda record: record.provenance.split_fingerprint,
        why=WHY,
    )
