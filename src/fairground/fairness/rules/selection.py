"""Chosen alike: the same metric of the same split picks the checkpoint, looked at equally often, stopped alike.

Flaw
    MLRC section 2.3: the best of many looks is reported. Who looks more often, or with more patience, has more to
    choose from; who chooses by another metric optimises another goal; who chooses on test classes has seen the answers.
"""

from fairground.fairness.agreement import facts_agree, settings_agree
from fairground.fairness.evidence import Difference, Evidence
from fairground.fairness.told import selected_on

OWNS = ("evaluation.select_by", "evaluation.select_on", "training.validate_every", "training.patience")
WHY = "The best of several looks is higher than a look: all must choose by the same rule, equally often."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree, and the split that selected where the records tell."""
    found = settings_agree(evidence, rule="selection", owns=OWNS, why=WHY, but=("evaluation.select_on",))
    return found + facts_agree(evidence, rule="selection", what="selected on", fact=selected_on, why=WHY)
