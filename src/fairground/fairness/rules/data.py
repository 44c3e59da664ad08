"""The same data, to the byte.

Flaw
    MLRC section 2.1, at its root: keep everything constant but the algorithm. Data sets have versions, cropped variants
    and broken files; the name alone does not tell, the fingerprint of images and labels does. Where the files lie is no
    difference.
"""

from fairground.fairness.agreement import facts_agree, settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("data",)
WHY = "Other images or labels make another task."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    found = settings_agree(evidence, rule="data", owns=OWNS, why=WHY, but=("data.root", "data.path"))
    return found + facts_agree(
        evidence, rule="data", what="data fingerprint", fact=lambda record: record.provenance.data_fingerprint, why=WHY
    )
