"""The same images: size, crop, augmentation.

Flaw
    MLRC section 2.1: papers that say they crop simply use the stronger random resized crop in their code; its
    supplementary page names five, and one that crops to 256 pixels where its competitors have 227 or 224.
"""

from fairground.fairness.agreement import settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("transform",)
WHY = "Stronger augmentation and larger crops raise accuracy whatever the loss."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    return settings_agree(evidence, rule="preprocessing", owns=OWNS, why=WHY)
