"""Batches that hold another number of images of a class for some losses.

Flaw
    None by itself: MLRC section 3.1 gives losses on pairs 4 images of a class and classification losses 1, each what it
    needs. But it is one more thing that differs besides the loss, and tuning it for one side only would be unfair.
"""

from fairground.fairness.agreement import settings_agree
from fairground.fairness.evidence import Evidence, Flag
from fairground.fairness.rules.batches import compares_samplers


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag when the number differs and the sampler is not what is compared."""
    found = settings_agree(evidence, rule="batches", owns=("sampler.per_class",), why="")
    if not found or compares_samplers(evidence):
        return []
    told = ", ".join(f"{label} {value}" for label, value in found[0].values.items())
    text = f"Images of a class in a batch follow the loss: {told}."
    why = "Part of a difference in score may come from the batches (MLRC 3.1 does the same, and says so)."
    return [Flag(flag="per_class", methods=tuple(found[0].values), text=text, why=why)]
