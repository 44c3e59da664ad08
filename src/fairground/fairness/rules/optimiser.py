"""The same optimiser with the same rates and decay.

Flaw
    MLRC section 2.1: SGD, RMSprop, Adam and AdamW are set side by side (its supplementary page sorts the papers by
    optimiser); adaptive ones converge faster, SGD may generalise better.

The rate and decay of the loss' own weights (`loss_lr`, `loss_weight_decay`) belong to the method: MLRC section 3.1.
"""

from fairground.fairness.agreement import settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("optimiser",)
WHY = "Optimiser and learning rate decide how far a run gets and how well it generalises, whatever the loss."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    return settings_agree(
        evidence, rule="optimiser", owns=OWNS, why=WHY, but=("optimiser.loss_lr", "optimiser.loss_weight_decay")
    )
