"""Runs that diverged, failed or were stopped, and so are not in the mean.

Flaw
    MLRC section 2.1 asks for averages over runs. A mean over those that survived is a mean over the lucky ones.
"""

from fairground.fairness.evidence import Evidence, Flag


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for every method with runs that did not finish."""
    found = []
    for label, records in evidence.methods.items():
        lost = len(records) - len(evidence.done[label])
        if lost:
            states = ", ".join(sorted({record.state for record in records if record.state != "done"}))
            text = f"{label}: {lost} of {len(records)} runs did not finish ({states}) and are not counted."
            why = "A mean over the runs that survived flatters an unstable method."
            found.append(Flag(flag="unfinished", methods=(label,), text=text, why=why))
    return found
