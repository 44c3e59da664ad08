"""Batch norm frozen in all or in none.

Flaw
    MLRC section 2.1: the code of a 2019 paper freezes batch norm, worth 2 points on CUB200 by its authors' own word,
    and the paper does not say so. Its supplementary page lists it under omitted details.
"""

from fairground.fairness.agreement import settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("training.freeze_batch_norm",)
WHY = "Freezing batch norm reduces overfitting, worth about 2 points on CUB200."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    return settings_agree(evidence, rule="batch_norm", owns=OWNS, why=WHY)
