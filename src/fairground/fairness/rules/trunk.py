"""The same network, starting from the same weights.

Flaw
    MLRC section 2.1 and table 1: before any training, ImageNet weights reach Recall@1 of 41.1 on CUB200 with GoogleNet,
    48.7 with ResNet50 and 51.1 with BN-Inception, and a 2017 paper with ResNet50 claimed large gains over competitors
    with GoogleNet. Its supplementary page names seven such papers, and one that sums average and max pooling where its
    competitors only average.
"""

from fairground.fairness.agreement import facts_agree, settings_agree
from fairground.fairness.evidence import Difference, Evidence
from fairground.fairness.told import weights_of

OWNS = ("trunk", "head")
WHY = (
    "The network and its starting weights alone move Recall@1 by ten points before any fine-tuning "
    "(41.1 for GoogleNet, 51.1 for BN-Inception on CUB200, MLRC table 1)."
)


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    found = settings_agree(evidence, rule="trunk", owns=OWNS, why=WHY, but=("head.embedding_dim",))
    return found + facts_agree(evidence, rule="trunk", what="pretrained weights", fact=weights_of, why=WHY)
