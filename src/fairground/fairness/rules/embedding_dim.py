"""The same number of embedding dimensions.

Flaw
    MLRC section 2.1: accuracy grows with the dimension. Its supplementary page names four papers that use more than
    their competitors without saying so: 128 against 64; 512 against 384 and 64; 512 or 1536 against 64; 512 against
    128.
"""

from fairground.fairness.agreement import settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("head.embedding_dim",)
WHY = "More dimensions retrieve better whatever the loss."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    return settings_agree(evidence, rule="embedding_dim", owns=OWNS, why=WHY)
