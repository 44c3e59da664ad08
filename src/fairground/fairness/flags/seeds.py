"""Repeats that are not the same number or not on the same seeds.

Flaw
    MLRC section 2.1 asks for several runs and intervals. The best of methods with unequal numbers of runs is not a fair
    best, and what two methods do not share (initial weights, order of images) is noise in their difference.
"""

from fairground.fairness.evidence import Evidence, Flag, seed_of


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for unequal numbers of runs, or for equal numbers of other seeds."""
    seeds = {label: frozenset(map(seed_of, records)) for label, records in evidence.done.items() if records}
    counts = {label: len(found) for label, found in seeds.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{label} {count}" for label, count in counts.items())
        text = f"Unequal numbers of runs: {told}."
        why = "Verdicts use the seeds two methods share; run the missing ones."
        return [Flag(flag="seeds", methods=tuple(counts), text=text, why=why)]
    if len(set(seeds.values())) > 1:
        text = "The methods were not run on the same seeds."
        why = "On shared seeds chance moves both methods alike and their difference is seen sooner."
        return [Flag(flag="seeds", methods=tuple(seeds), text=text, why=why)]
    return []
