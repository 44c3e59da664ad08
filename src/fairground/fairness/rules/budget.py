"""The same amount of training.

Flaw
    MLRC section 2.3: papers report after a predetermined number of iterations, and how it was chosen is unclear.
"""

from fairground.fairness.agreement import settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("training.epochs", "training.batches_per_epoch")
WHY = "Longer training can win by itself, or lose by overfitting."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    return settings_agree(evidence, rule="budget", owns=OWNS, why=WHY)
