"""Measured alike: the same metrics, the same queries, the same normalisation.

Flaw
    MLRC section 2.2: scores depend on what is measured and how. Dropping queries without a classmate instead of
    counting them as misses, or normalising one method's embeddings only, moves a score without moving a model.
"""

from fairground.fairness.agreement import settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("evaluation.metrics", "evaluation.lone", "evaluation.normalise")
WHY = (
    "The same model scores differently when measured differently, and a metric only some methods report hides "
    "where the others are weak."
)


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    return settings_agree(evidence, rule="evaluation", owns=OWNS, why=WHY)
