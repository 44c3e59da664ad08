"""Runs that reproduce a bug of published code on purpose.

Flaw
    MLRC section 2.1: what code does and the paper does not say. A run that repeats such a bug reproduces a number;
    it is not what the method would score.
"""

from fairground.fairness.evidence import Evidence, Flag
from fairground.fairness.told import bugs_of


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for every bug, with the methods it was switched on in."""
    where: dict[str, list[str]] = {}
    for label, records in evidence.methods.items():
        for bug in dict.fromkeys(bug for record in records for bug in bugs_of(record)):
            where.setdefault(bug, []).append(label)
    why = "It shows what was published, not what the method can do."
    return [
        Flag(
            flag="known_bugs",
            methods=tuple(labels),
            text=f"Known bug switched on in {', '.join(labels)}: {bug}.",
            why=why,
        )
        for bug, labels in where.items()
    ]
